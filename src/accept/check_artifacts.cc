// Checks of what artifacts cover: fallbacks and hits.
#include <fmt/format.h>

#include "accept/checks.h"
#include "base/error.h"

namespace hstu {

Metric CheckFallbacks(const Subject& subject) {
  const Metadata& metadata = subject.metadata;
  Metric metric{"fallback_kernels",
                "Fallback kernels",
                "",
                LimitSide::kAtMost,
                metadata.FallbackShare(),
                {},
                fmt::format("{} of {} kernels run built in", metadata.NumFallbacks(),
                            metadata.kernels.size())};
  for (const KernelRecord& kernel : metadata.kernels) {
    if (!kernel.fallback) continue;
    metric.detail += fmt::format("; {}: {}", kernel.name, kernel.reason);
    break;
  }
  return metric;
}

Result<Metric> CheckHits(const Subject& subject, EngineStats* stats) {
  Metric metric{
      "artifact_hits", "Requests that hit a bucket", "", LimitSide::kMoreThan, {}, {}, ""};
  HSTU_ASSIGN_OR_RETURN(Engine engine, subject.Load(true, subject.options.engine.kv_cache));
  engine.Rank(subject.requests);
  *stats = engine.stats();
  const int64_t answered = stats->artifact_hits + stats->artifact_misses;
  if (answered > 0) {
    metric.value = static_cast<double>(stats->artifact_hits) / static_cast<double>(answered);
  }
  metric.detail = fmt::format("{} of {} requests of {}", stats->artifact_hits, answered,
                              subject.options.requests);
  for (const BucketStats& bucket : stats->buckets) {
    metric.detail += fmt::format("; {} x {}: {} steps", bucket.batch, bucket.seq_len, bucket.steps);
  }
  return metric;
}

}  // namespace hstu
