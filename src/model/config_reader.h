// Reads checked values out of one JSON object of config.json, with errors that name file and key.
#ifndef HSTU_MODEL_CONFIG_READER_H_
#define HSTU_MODEL_CONFIG_READER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

struct Range {
  std::int64_t least;
  std::int64_t most;
};

class ConfigReader {
 public:
  // `prefix` is what comes before a key in messages, such as "m/config.json: embedding_tables[2].".
  ConfigReader(const nlohmann::json& object, std::string prefix)
      : object_(object), prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }

  // A key that is absent or null gives the fallback; without a fallback it is an error.
  Result<std::int64_t> Integer(const char* key, Range range,
                               std::optional<std::int64_t> fallback = std::nullopt) const;
  Result<bool> Boolean(const char* key, bool fallback) const;
  // A number that stays in (0, most] as a float.
  Result<float> Positive(const char* key, float most) const;
  // Not empty, no control characters; absent or null gives no value.
  Result<std::optional<std::string>> OptionalString(const char* key) const;
  Result<std::string> String(const char* key) const;
  // Distinct, none of them empty. Absent or null gives none.
  Result<std::vector<std::string>> Strings(const char* key) const;
  Result<std::vector<std::int64_t>> Integers(const char* key, Range range,
                                             std::size_t max_count) const;
  // The array of a key, or null where it is absent or null.
  Result<const nlohmann::json*> Array(const char* key) const;

  // kBadModel, "{prefix}{key} is {value}; {expected}".
  Error Wrong(const std::string& key, const nlohmann::json& value,
              const std::string& expected) const;
  Error Missing(const char* key, const std::string& expected) const;

 private:
  const nlohmann::json* Find(const char* key) const;

  const nlohmann::json& object_;
  std::string prefix_;
};

}  // namespace hstu

#endif  // HSTU_MODEL_CONFIG_READER_H_
