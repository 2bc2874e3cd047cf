// What commands say of the artifacts that their engine ran in.
#ifndef HSTU_CLI_ARTIFACTS_REPORT_H_
#define HSTU_CLI_ARTIFACTS_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// {"hits", "misses", "buckets": [{"seq_len", "batch", "steps", "requests"}]}; null where the engine
// has none.
nlohmann::ordered_json ArtifactsJson(const EngineStats& stats);

// One line; empty where the engine has none.
std::string ArtifactsLine(const EngineStats& stats);

}  // namespace hstu

#endif  // HSTU_CLI_ARTIFACTS_REPORT_H_
