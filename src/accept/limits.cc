#include "accept/limits.h"

#include <map>
#include <nlohmann/json.hpp>

#include "accept/json_object.h"
#include "base/error.h"

namespace hstu {
namespace {

using Fields = std::map<std::string, std::optional<double>*>;

Fields FieldsOf(Limits* limits) {
  return {{"cold_start", &limits->cold_start},
          {"steady_step", &limits->steady_step},
          {"peak_memory", &limits->peak_memory},
          {"artifact_hits", &limits->artifact_hits},
          {"consistency", &limits->consistency},
          {"eviction", &limits->eviction},
          {"fallback_kernels", &limits->fallback_kernels},
          {"bucket_switch", &limits->bucket_switch},
          {"memory_budget", &limits->memory_budget}};
}

std::string Names(const Fields& fields) {
  std::string names;
  for (const auto& [name, field] : fields) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

Limits DefaultLimits(bool f32) {
  Limits limits;
  limits.consistency = f32 ? 1e-3 : 3e-2;
  limits.eviction = limits.consistency;
  return limits;
}

Status ReadLimits(const std::string& path, Limits* limits) {
  HSTU_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(path));
  const Fields fields = FieldsOf(limits);
  for (const auto& [name, value] : json.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      return MakeError(ErrorCode::kBadData, "{}: there is no limit \"{}\"; there are {}", path,
                       name, Names(fields));
    }
    if (value.is_null()) {
      field->second->reset();
    } else if (value.is_number() && value.get<double>() >= 0) {
      *field->second = value.get<double>();
    } else {
      return MakeError(ErrorCode::kBadData,
                       "{}: {} is {}: give a number of at least 0, or null to only report it", path,
                       name, value.dump());
    }
  }
  return {};
}

}  // namespace hstu
