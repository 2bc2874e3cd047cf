#include "accept/baseline.h"

#include "accept/json_object.h"
#include "base/atomic_file.h"
#include "base/error.h"

namespace hstu {
namespace {

constexpr const char* kRatio = "steady_step_ratio";

}  // namespace

Result<Baseline> ReadBaseline(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(path));
  const auto ratio = json.find(kRatio);
  if (ratio == json.end() || !ratio->is_number() || ratio->get<double>() <= 0) {
    return MakeError(ErrorCode::kBadData,
                     "{}: {} is not a number above 0; write the file with --record-baseline", path,
                     kRatio);
  }
  return Baseline{ratio->get<double>()};
}

Status WriteBaseline(const Baseline& baseline, const std::string& path) {
  const nlohmann::ordered_json json{{kRatio, baseline.steady_step_ratio}};
  return WriteWholeFile(path, json.dump(2) + "\n");
}

}  // namespace hstu
