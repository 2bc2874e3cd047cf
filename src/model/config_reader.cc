#include "model/config_reader.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

using nlohmann::json;

std::string Expected(Range range) {
  return fmt::format("it must be an integer in [{}, {}]", range.least, range.most);
}

bool IsInteger(const json& value, Range range) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(range.most) &&
           static_cast<std::int64_t>(number) >= range.least;
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return range.least <= number && number <= range.most;
}

// Names become parts of tensor names and of messages on one line.
bool IsName(const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() && text.size() <= 1024 && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

constexpr const char* kExpectedName =
    "it must be a string of 1 to 1024 bytes without control characters";

}  // namespace

const json* ConfigReader::Find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error ConfigReader::Wrong(const std::string& key, const json& value,
                          const std::string& expected) const {
  return MakeError(ErrorCode::kBadModel, "{}{} is {}; {}", prefix_, key, Excerpt(value), expected);
}

Error ConfigReader::Missing(const char* key, const std::string& expected) const {
  return MakeError(ErrorCode::kBadModel, "{}{} is missing; {}", prefix_, key, expected);
}

Result<std::int64_t> ConfigReader::Integer(const char* key, Range range,
                                           std::optional<std::int64_t> fallback) const {
  const json* value = Find(key);
  if (value == nullptr) {
    if (fallback) return *fallback;
    return Missing(key, Expected(range));
  }
  if (!IsInteger(*value, range)) return Wrong(key, *value, Expected(range));
  return value->get<std::int64_t>();
}

Result<bool> ConfigReader::Boolean(const char* key, bool fallback) const {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return Wrong(key, *value, "it must be true or false");
  return value->get<bool>();
}

Result<float> ConfigReader::Positive(const char* key, float most) const {
  const std::string expected =
      fmt::format("it must be a number above 0 (as a float) and at most {}", most);
  const json* value = Find(key);
  if (value == nullptr) return Missing(key, expected);
  if (!value->is_number()) return Wrong(key, *value, expected);
  const double number = value->get<double>();
  if (!(number <= most && static_cast<float>(number) > 0)) return Wrong(key, *value, expected);
  return static_cast<float>(number);
}

Result<std::optional<std::string>> ConfigReader::OptionalString(const char* key) const {
  const json* value = Find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!IsName(*value)) return Wrong(key, *value, kExpectedName);
  return std::optional(value->get<std::string>());
}

Result<std::string> ConfigReader::String(const char* key) const {
  HSTU_ASSIGN_OR_RETURN(std::optional<std::string> text, OptionalString(key));
  if (!text) return Missing(key, kExpectedName);
  return std::move(*text);
}

Result<std::vector<std::string>> ConfigReader::Strings(const char* key) const {
  std::vector<std::string> strings;
  HSTU_ASSIGN_OR_RETURN(const json* array, Array(key));
  if (array == nullptr) return strings;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json& value = (*array)[i];
    const std::string element = fmt::format("{}[{}]", key, i);
    if (!IsName(value)) return Wrong(element, value, kExpectedName);
    if (std::find(strings.begin(), strings.end(), value.get_ref<const std::string&>()) !=
        strings.end()) {
      return Wrong(element, value, "it is in the list already; remove one of the two");
    }
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

Result<std::vector<std::int64_t>> ConfigReader::Integers(const char* key, Range range,
                                                         std::size_t max_count) const {
  HSTU_ASSIGN_OR_RETURN(const json* array, Array(key));
  const std::string expected = fmt::format("it must be an array of 1 to {} integers", max_count);
  if (array == nullptr) return Missing(key, expected);
  if (array->empty() || array->size() > max_count) return Wrong(key, *array, expected);
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const json& value = (*array)[i];
    if (!IsInteger(value, range))
      return Wrong(fmt::format("{}[{}]", key, i), value, Expected(range));
    integers.push_back(value.get<std::int64_t>());
  }
  return integers;
}

Result<const json*> ConfigReader::Array(const char* key) const {
  const json* value = Find(key);
  if (value != nullptr && !value->is_array()) return Wrong(key, *value, "it must be an array");
  return value;
}

}  // namespace hstu
