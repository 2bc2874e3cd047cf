// JSON text into a value, for files and requests that nobody vouches for.
#ifndef HSTU_BASE_JSON_H_
#define HSTU_BASE_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

// Parses one JSON value (RFC 8259). Refused with kBadData and a short message that says where: text
// that is no JSON or no UTF-8, a key given twice, nesting deeper than 64, a number that no double
// holds, anything after the value.
Result<nlohmann::json> ParseJson(std::string_view text);

// The value as text for a message: on one line, valid UTF-8, at most about `limit` bytes.
std::string Excerpt(const nlohmann::json& value, std::size_t limit = 80);

}  // namespace hstu

#endif  // HSTU_BASE_JSON_H_
