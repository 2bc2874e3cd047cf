// The processor's rate of fused multiply-adds in registers, measured in short bursts.
#ifndef HSTU_BENCH_FMA_PEAK_H_
#define HSTU_BENCH_FMA_PEAK_H_

#include "base/cpu.h"
#include "base/thread_pool.h"

namespace hstu {

// Wall time, and the processor time of the process divided by its threads: what remains when the
// machine gives its processors to others meanwhile.
struct Elapsed {
  double wall = 0.0;  // seconds
  double processor = 0.0;
};

class Stopwatch {
 public:
  explicit Stopwatch(int threads);
  Elapsed Read() const;

 private:
  double wall_;
  double processor_;
  int threads_;
};

struct FmaRate {
  double wall = 0.0;  // flops per second of all threads of the pool together
  double processor = 0.0;
};

// Over about a millisecond.
FmaRate FmaBurst(ThreadPool* pool, Isa isa);

}  // namespace hstu

#endif  // HSTU_BENCH_FMA_PEAK_H_
