#include "data/requests.h"

#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

using nlohmann::json;

template <typename... Args>
Error Bad(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ErrorCode::kBadRequest, format, std::forward<Args>(args)...);
}

// A key that is absent or null gives null.
const json* Find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool IsInt64(const json& value) {
  return value.is_number_unsigned()
             ? value.get<std::uint64_t>() <=
                   static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             : value.is_number_integer();
}

Result<std::vector<std::int64_t>> Integers(const json& value, const char* name) {
  if (!value.is_array()) return Bad("{} is {}; it must be an array of ids", name, Excerpt(value));
  std::vector<std::int64_t> integers;
  integers.reserve(value.size());
  for (const json& id : value) {
    if (!IsInt64(id)) {
      return Bad("{}[{}] is {}; an id is an integer of 64 bits", name, integers.size(),
                 Excerpt(id));
    }
    integers.push_back(id.get<std::int64_t>());
  }
  return integers;
}

Status ReadUser(const json& object, json& shown, Request& request) {
  const json* user = Find(object, "user_id");
  if (user == nullptr) return {};
  if (!user->is_string() && !user->is_number_integer()) {
    return Bad("user_id is {}; it must be a string or an integer of 64 bits", Excerpt(*user));
  }
  shown = *user;
  request.user_id = user->is_string() ? user->get<std::string>() : user->dump();  // 17 is "17"
  return {};
}

Status ReadContextual(const json& object, Request& request) {
  const json* contextual = Find(object, "contextual");
  if (contextual == nullptr) return {};
  if (!contextual->is_object()) {
    return Bad("contextual is {}; it must be an object of feature: id", Excerpt(*contextual));
  }
  for (const auto& [feature, id] : contextual->items()) {
    if (!IsInt64(id)) {
      return Bad("contextual {} is {}; an id is an integer of 64 bits", Excerpt(feature),
                 Excerpt(id));
    }
    request.contextual.emplace_back(feature, id.get<std::int64_t>());
  }
  return {};
}

Status ReadHistory(const json& object, Request& request) {
  const json* history = Find(object, "history");
  if (history == nullptr) {
    return Bad(
        "history is missing; add {{\"items\": [...]}}, with actions where the model has "
        "them");
  }
  if (!history->is_object()) {
    return Bad("history is {}; it must be an object with items", Excerpt(*history));
  }
  const json* items = Find(*history, "items");
  if (items == nullptr) return Bad("history.items is missing; a new user has \"items\": []");
  HSTU_ASSIGN_OR_RETURN(request.items, Integers(*items, "history.items"));
  if (const json* actions = Find(*history, "actions")) {
    HSTU_ASSIGN_OR_RETURN(request.actions, Integers(*actions, "history.actions"));
    if (request.actions.size() != request.items.size()) {
      return Bad("history has {} items and {} actions; each item needs one", request.items.size(),
                 request.actions.size());
    }
  }
  if (const json* start = Find(object, "history_start")) {
    if (!IsInt64(*start) || start->get<std::int64_t>() < 0) {
      return Bad("history_start is {}; it must be an integer of at least 0", Excerpt(*start));
    }
    request.history_start = start->get<std::int64_t>();
  }
  return {};
}

Status ReadCandidates(const json& object, Request& request) {
  const json* candidates = Find(object, "candidates");
  if (candidates == nullptr) {
    return Bad("candidates is missing; \"candidates\": [] computes just the history");
  }
  HSTU_ASSIGN_OR_RETURN(request.candidates, Integers(*candidates, "candidates"));
  return {};
}

Result<Request> ReadRequest(std::string_view line, json& user_id) {
  if (line.size() > kMaxRequestBytes) {
    return Bad("it has more than {} bytes; split the request", kMaxRequestBytes);
  }
  const Result<json> parsed = ParseJson(line);
  if (!parsed.ok()) return Bad("it is no JSON object: {}", parsed.error().message);
  const json& object = parsed.value();
  if (!object.is_object()) return Bad("it is no JSON object but {}", Excerpt(object));
  Request request;
  HSTU_RETURN_IF_ERROR(ReadUser(object, user_id, request));
  HSTU_RETURN_IF_ERROR(ReadContextual(object, request));
  HSTU_RETURN_IF_ERROR(ReadHistory(object, request));
  HSTU_RETURN_IF_ERROR(ReadCandidates(object, request));
  return request;
}

}  // namespace

ParsedRequest ParseRequest(std::string_view line, std::int64_t line_number) {
  json user_id;
  Result<Request> request = ReadRequest(line, user_id);
  if (!request.ok()) {
    request = Bad("line {}: {}", line_number, request.error().message);
  }
  return {std::move(user_id), std::move(request)};
}

}  // namespace hstu
