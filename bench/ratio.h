// Measuring on a machine whose speed drifts: each sample stands between two bursts of what limits
// it, multiply-adds or reads, and counts as a fraction of theirs.
#ifndef HSTU_BENCH_RATIO_H_
#define HSTU_BENCH_RATIO_H_

#include <functional>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "bench/stopwatch.h"

namespace hstu {

struct RatioResult {
  double median_of_peak = 0.0;  // useful flops, or bytes, over the peak of the same moment
  double p90_of_peak = 0.0;
  double processor_of_peak = 0.0;  // the same in processor time, of all samples
  double median_seconds = 0.0;
  double peak = 0.0;  // the largest burst seen, a second
  int samples = 0;    // that counted: both bursts at least 0.88 of the largest
};

// Runs `body`, which does `amount` of what a burst measures, `repeats` times after one warm-up.
RatioResult MeasureRatio(ThreadPool* pool, const std::function<Rate()>& burst, double amount,
                         int repeats, const std::function<void()>& body);

// Against bursts of multiply-adds.
RatioResult MeasureFlops(ThreadPool* pool, Isa isa, double flops, int repeats,
                         const std::function<void()>& body);

}  // namespace hstu

#endif  // HSTU_BENCH_RATIO_H_
