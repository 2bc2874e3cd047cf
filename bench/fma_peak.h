// The processor's rate of fused multiply-adds in registers, measured in short bursts.
#ifndef HSTU_BENCH_FMA_PEAK_H_
#define HSTU_BENCH_FMA_PEAK_H_

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "bench/stopwatch.h"

namespace hstu {

// Flops of all threads of the pool together, over about a millisecond.
Rate FmaBurst(ThreadPool* pool, Isa isa);

}  // namespace hstu

#endif  // HSTU_BENCH_FMA_PEAK_H_
