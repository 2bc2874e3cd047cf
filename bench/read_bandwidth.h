// The rate at which memory is read, measured in short bursts.
#ifndef HSTU_BENCH_READ_BANDWIDTH_H_
#define HSTU_BENCH_READ_BANDWIDTH_H_

#include <cstdint>

#include "base/aligned.h"
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "bench/stopwatch.h"

namespace hstu {

// Of the largest cache; 32 MiB where the system doesn't tell.
int64_t LastCacheBytes();

// Read through in pieces, one a burst. A buffer past twice the last cache comes from memory each
// time; a smaller one from the cache that holds it.
class ReadBuffer {
 public:
  ReadBuffer(int64_t bytes, int64_t piece_bytes);
  int64_t bytes() const { return bytes_; }
  // Bytes of all threads of the pool together.
  Rate Burst(ThreadPool* pool, Isa isa);

 private:
  int64_t bytes_;
  int64_t piece_bytes_;
  int64_t next_ = 0;
  AlignedArray<float> data_;
};

}  // namespace hstu

#endif  // HSTU_BENCH_READ_BANDWIDTH_H_
