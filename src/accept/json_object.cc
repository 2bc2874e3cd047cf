#include "accept/json_object.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace hstu {

Result<nlohmann::json> ReadJsonObject(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  Result<nlohmann::json> json = ParseJson(file.text());
  if (!json.ok()) return MakeError(ErrorCode::kBadData, "{}: {}", path, json.error().message);
  if (!json->is_object()) return MakeError(ErrorCode::kBadData, "{}: not a JSON object", path);
  return json;
}

}  // namespace hstu
