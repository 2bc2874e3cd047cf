// Requests as JSON Lines. docs/requests.md describes them.
#ifndef HSTU_DATA_REQUESTS_H_
#define HSTU_DATA_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

// Longer lines are no requests: a history has some ten thousand items of some ten digits, and the
// worst of lines takes some thirty times its size while it is read.
constexpr std::size_t kMaxRequestBytes = std::size_t{16} << 20;

struct ParsedRequest {
  nlohmann::json user_id;  // as given, for the answer: a string, an integer or null
  Result<Request> request;
};

// One line. What is no valid request is a kBadRequest that begins with "line N: ", and user_id is
// kept where it was given. Whether the model knows the features and ids is the engine's to say.
ParsedRequest ParseRequest(std::string_view line, std::int64_t line_number);

}  // namespace hstu

#endif  // HSTU_DATA_REQUESTS_H_
