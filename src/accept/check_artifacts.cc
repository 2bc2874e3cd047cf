// Checks of what artifacts cover: fallbacks and hits.
#include <fmt/format.h>

#include "accept/checks.h"
#include "base/error.h"

namespace hstu {

Metric CheckFallbacks(const Subject& subject) {
  Metric metric{"fallback_kernels", "Fallback kernels", "", LimitSide::kAtMost, 0.0, {}, ""};
  const auto kernels = static_cast<double>(subject.metadata.kernels.size());
  const int64_t fallbacks = subject.metadata.NumFallbacks();
  if (kernels > 0) metric.value = static_cast<double>(fallbacks) / kernels;
  metric.detail = fmt::format("{} of {} kernels run built in", fallbacks, kernels);
  for (const KernelRecord& kernel : subject.metadata.kernels) {
    if (!kernel.fallback) continue;
    metric.detail += fmt::format("; {}: {}", kernel.name, kernel.reason);
    break;
  }
  return metric;
}

Result<Metric> CheckHits(const Subject& subject) {
  Metric metric{
      "artifact_hits", "Requests that hit a bucket", "", LimitSide::kMoreThan, {}, {}, ""};
  HSTU_ASSIGN_OR_RETURN(Engine engine, subject.Load(true, subject.options.engine.kv_cache));
  engine.Rank(subject.requests);
  const EngineStats stats = engine.stats();
  const int64_t answered = stats.artifact_hits + stats.artifact_misses;
  if (answered > 0) {
    metric.value = static_cast<double>(stats.artifact_hits) / static_cast<double>(answered);
  }
  metric.detail = fmt::format("{} of {} requests of {}", stats.artifact_hits, answered,
                              subject.options.requests);
  for (const BucketStats& bucket : stats.buckets) {
    metric.detail += fmt::format("; {} x {}: {} steps", bucket.batch, bucket.seq_len, bucket.steps);
  }
  return metric;
}

}  // namespace hstu
