#include "data/pandas_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "data/csv.h"

namespace hstu {
namespace {

enum class ColumnType { kInteger, kUnsigned, kFloat, kText };

std::optional<std::uint64_t> ParseUnsigned(std::string_view text) {
  text = WithoutBlanks(text);
  std::uint64_t value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of the types that fit all values the first in the order of the enumeration. Integers can't have
// gaps. Texts such as True and False print alike whether they are booleans or not.
ColumnType TypeOf(const std::vector<std::string>& distinct) {
  bool integers = true;
  bool unsigned_integers = true;
  bool floats = true;
  for (const std::string& text : distinct) {
    bool gap = IsGap(text);
    integers = integers && !gap && ParseInteger(text).has_value();
    unsigned_integers = unsigned_integers && !gap && ParseUnsigned(text).has_value();
    floats = floats && (gap || ParseNumber(text).has_value());
  }
  if (integers) return ColumnType::kInteger;
  if (unsigned_integers) return ColumnType::kUnsigned;
  return floats ? ColumnType::kFloat : ColumnType::kText;
}

std::string Canonical(const std::string& text, ColumnType type) {
  if (IsGap(text)) return "";
  switch (type) {
    case ColumnType::kInteger:
      return fmt::format("{}", *ParseInteger(text));
    case ColumnType::kUnsigned:
      return fmt::format("{}", *ParseUnsigned(text));
    case ColumnType::kFloat:
      return PythonFloat(*ParseNumber(text));
    case ColumnType::kText:
      break;
  }
  return text;
}

}  // namespace

bool IsGap(std::string_view text) {
  static constexpr std::array<std::string_view, 19> kGaps = {
      "",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
      "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
      "NaN",  "None",   "n/a",      "nan",  "null"};
  return std::find(kGaps.begin(), kGaps.end(), text) != kGaps.end();
}

std::string PythonFloat(double value) {
  // fmt takes the same digits and the same exponents as Python, and only leaves the ".0" out.
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

std::vector<std::string> AsPandasWrites(const std::vector<std::string>& distinct) {
  ColumnType type = TypeOf(distinct);
  std::vector<std::string> written;
  for (const std::string& text : distinct)
    AppendField(Canonical(text, type), &written.emplace_back());
  return written;
}

std::vector<std::int64_t> NumberedByAppearance(const std::vector<std::string>& distinct) {
  ColumnType type = TypeOf(distinct);
  std::unordered_map<std::string, std::int64_t> numbers;
  std::vector<std::int64_t> numbered;
  for (const std::string& text : distinct) {
    auto next = static_cast<std::int64_t>(numbers.size()) + 1;
    numbered.push_back(numbers.try_emplace(Canonical(text, type), next).first->second);
  }
  return numbered;
}

}  // namespace hstu
