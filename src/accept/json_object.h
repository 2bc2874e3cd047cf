// A file that holds one JSON object.
#ifndef HSTU_ACCEPT_JSON_OBJECT_H_
#define HSTU_ACCEPT_JSON_OBJECT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// Errors (kIo, kBadData) name the file.
Result<nlohmann::json> ReadJsonObject(const std::string& path);

}  // namespace hstu

#endif  // HSTU_ACCEPT_JSON_OBJECT_H_
