#include "cli/artifacts_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hstu {

nlohmann::ordered_json ArtifactsJson(const EngineStats& stats) {
  if (stats.buckets.empty()) return nullptr;
  auto buckets = nlohmann::ordered_json::array();
  for (const BucketStats& bucket : stats.buckets) {
    buckets.push_back({{"seq_len", bucket.seq_len},
                       {"batch", bucket.batch},
                       {"steps", bucket.steps},
                       {"requests", bucket.requests}});
  }
  return {{"hits", stats.artifact_hits},
          {"misses", stats.artifact_misses},
          {"buckets", std::move(buckets)}};
}

std::string ArtifactsLine(const EngineStats& stats) {
  if (stats.buckets.empty()) return {};
  const std::int64_t requests = stats.artifact_hits + stats.artifact_misses;
  return fmt::format("artifacts    {} of {} requests ({:.1f} %)\n", stats.artifact_hits, requests,
                     100.0 * static_cast<double>(stats.artifact_hits) /
                         static_cast<double>(std::max<std::int64_t>(1, requests)));
}

}  // namespace hstu
