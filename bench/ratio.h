// Measuring on a machine whose speed drifts: each sample stands between two bursts of fused
// multiply-adds and counts as a fraction of theirs.
#ifndef HSTU_BENCH_RATIO_H_
#define HSTU_BENCH_RATIO_H_

#include <functional>
#include <vector>

#include "base/cpu.h"
#include "base/thread_pool.h"

namespace hstu {

struct RatioResult {
  double median_of_peak = 0.0;  // useful flops over the peak of the same moment
  double p90_of_peak = 0.0;
  double processor_of_peak = 0.0;  // the same in processor time, of all samples
  double median_seconds = 0.0;
  double peak_flops = 0.0;  // the largest burst seen, flops per second
  int samples = 0;          // that counted: both bursts at least 0.88 of the largest
};

// Runs `body`, of `flops` useful flops, `repeats` times after one warm-up.
RatioResult MeasureRatio(ThreadPool* pool, Isa isa, double flops, int repeats,
                         const std::function<void()>& body);

}  // namespace hstu

#endif  // HSTU_BENCH_RATIO_H_
