// The checks of an acceptance, a file each. Each returns its metric without its limit; errors are
// of what can't be run at all.
#ifndef HSTU_ACCEPT_CHECKS_H_
#define HSTU_ACCEPT_CHECKS_H_

#include <cstdint>
#include <optional>

#include "accept/report.h"
#include "accept/subject.h"
#include "hstu/hstu.hpp"

namespace hstu {

// Kernels that run built in, of all kernels, by metadata.json.
Metric CheckFallbacks(const Subject& subject);

// Requests that ran in buckets, of all in the file; `stats`: of the engine that answered them.
Result<Metric> CheckHits(const Subject& subject, EngineStats* stats);

// 100 random inputs, and sizes around every bucket's, against the eager interpreter.
Result<Metric> CheckConsistency(const Subject& subject, Plot* plot);

// Streams past max_history_tokens against the reference of streams.
Result<Metric> CheckEviction(const Subject& subject, Plot* plot);

// From a process's start to its first logits, and the most memory that one process takes for all
// requests, as a share of the budget: `given` bytes, or by the sizes of what an engine holds.
Result<Metric> CheckColdStart(const Subject& subject);
Result<Metric> CheckPeakMemory(const Subject& subject, std::optional<double> given,
                               const EngineStats& stats);

// Steps in every bucket, compiled and built in in turns. `ratio` is the compiled ones' share of the
// built-in time; the metric is that over the baseline's.
struct StepTimes {
  Metric steady_step;
  Metric bucket_switch;
  double ratio = 1.0;
};
Result<StepTimes> MeasureSteps(const Subject& subject, double baseline_ratio, Plot* plot);

}  // namespace hstu

#endif  // HSTU_ACCEPT_CHECKS_H_
