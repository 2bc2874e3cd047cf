#include "data/log_parser.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <utility>

#include "base/error.h"
#include "data/csv.h"

namespace hstu {
namespace {

// The digits at `at`, which some other character must end. Null if this is no plain integer of at
// most 18 digits: whatever else it is, the slow path finds out.
inline const char* PlainInteger(const char* at, std::int64_t* value) {
  bool negative = *at == '-';
  at += negative;
  const char* first = at;
  std::uint64_t sum = 0;
  for (unsigned digit; (digit = static_cast<unsigned char>(*at) - '0') <= 9; ++at) {
    sum = sum * 10 + digit;
  }
  if (at == first || at - first > 18) return nullptr;
  *value = negative ? -static_cast<std::int64_t>(sum) : static_cast<std::int64_t>(sum);
  return at;
}

// "4", "3.5": in steps of one star or half a star. Null if it is anything else.
inline const char* PlainRating(const char* at, int steps_per_star, std::int64_t* steps) {
  at = PlainInteger(at, steps);
  if (at == nullptr) return nullptr;
  *steps *= steps_per_star;
  if (*at != '.') return at;
  if (at[1] == '5' && steps_per_star == 2) {
    *steps += 1;
  } else if (at[1] != '0') {
    return nullptr;
  }
  return at + 2;
}

inline bool IsRatingStep(std::int64_t steps, int steps_per_star) {
  return steps >= 1 && steps <= 5 * steps_per_star;
}

inline bool FitsDate(std::int64_t value) {
  return value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
}

Error Missing(const std::string& path, const LogFormat& format, const std::string& column) {
  std::string needed;
  for (const LogColumn& known : format.columns) {
    needed += needed.empty() ? "" : ", ";
    needed += known.name;
  }
  return MakeError(ErrorCode::kBadData, "{}:1: there is no column {}; the log needs {}", path,
                   column, needed);
}

}  // namespace

LogParser::LogParser(std::string path, const LogFormat& format)
    : path_(std::move(path)),
      separator_(format.separator),
      steps_per_star_(format.steps_per_star) {}

Result<LogParser> LogParser::Create(const std::string& path, const LogFormat& format,
                                    std::string_view header) {
  LogParser parser(path, format);
  if (!format.has_header) {
    parser.columns_ = format.columns;
    return parser;
  }
  RecordSplitter splitter(format.separator);
  if (Status status = splitter.Split(header); !status.ok()) {
    return MakeError(ErrorCode::kBadData, "{}:1: {}", path, status.error().message);
  }
  for (std::string_view name : splitter.fields()) {
    name = WithoutBlanks(name);
    auto known = std::find_if(format.columns.begin(), format.columns.end(),
                              [&](const LogColumn& column) { return column.name == name; });
    parser.columns_.push_back(known == format.columns.end() ? LogColumn{std::string(name)}
                                                            : *known);
  }
  for (const LogColumn& needed : format.columns) {
    auto times = std::count_if(parser.columns_.begin(), parser.columns_.end(),
                               [&](const LogColumn& column) { return column.name == needed.name; });
    if (times == 0) return Missing(path, format, needed.name);
    if (times > 1) {
      return MakeError(ErrorCode::kBadData, "{}:1: column {} is there {} times, which one counts?",
                       path, needed.name, times);
    }
  }
  return parser;
}

Status LogParser::Parse(const RecordBlock& block, std::vector<Interaction>* rows) const {
  const char* at = block.text.data();
  const char* end = at + block.text.size();
  std::int64_t line = block.first_line;
  Interaction row;
  while (at != end) {
    if (const char* next = ParsePlain(at, &row); next != nullptr) [[likely]] {
      rows->push_back(row);
      at = next;
      ++line;
      continue;
    }
    std::string_view rest(at, static_cast<std::size_t>(end - at));
    std::string_view record = rest.substr(0, RecordEnd(rest));
    if (!WithoutBlanks(WithoutLineEnd(record)).empty()) {
      HSTU_RETURN_IF_ERROR(ParseSlowly(record, line, &row));
      rows->push_back(row);
    }
    at += record.size();
    line += std::count(record.begin(), record.end(), '\n');
  }
  return {};
}

inline bool LogParser::TakeSeparator(const char** at) const {
  if (**at != separator_[0]) return false;
  ++*at;
  if (separator_.size() == 1) return true;
  if (**at != separator_[1]) return false;
  ++*at;
  return true;
}

// The way of nearly all lines: every wanted field is digits. Reads no further than the record's
// '\n' and gives the position after it, or null where anything is unusual.
const char* LogParser::ParsePlain(const char* at, Interaction* row) const {
  unsigned action = 0;
  std::int64_t number;
  const LogColumn* last = &columns_.back();
  for (const LogColumn* column = columns_.data();; ++column) {
    switch (column->field) {
      case LogField::kIgnored:
        while (*at != separator_[0] && *at != '\n' && *at != '"') ++at;
        break;
      case LogField::kUser:
        at = PlainInteger(at, &row->user);
        break;
      case LogField::kItem:
        at = PlainInteger(at, &row->item);
        break;
      case LogField::kTime:
        at = PlainInteger(at, &row->time);
        break;
      case LogField::kPlayTime:
        at = PlainInteger(at, &row->play_time);
        break;
      case LogField::kDuration:
        at = PlainInteger(at, &row->duration);
        break;
      case LogField::kDate:
        at = PlainInteger(at, &number);
        if (at == nullptr || !FitsDate(number)) return nullptr;
        row->date = static_cast<std::int32_t>(number);
        break;
      case LogField::kEvent:
        if (const unsigned bit = static_cast<unsigned char>(*at) - '0'; bit <= 1) [[likely]] {
          // More digits would not be followed by a separator.
          action |= column->bit & (0u - bit);
          ++at;
        } else {
          return nullptr;
        }
        break;
      case LogField::kRating:
        at = PlainRating(at, steps_per_star_, &number);
        if (at == nullptr || !IsRatingStep(number, steps_per_star_)) return nullptr;
        action = static_cast<unsigned>(number - 1);
        break;
    }
    if (at == nullptr) return nullptr;
    if (column == last) break;
    if (!TakeSeparator(&at)) return nullptr;
  }
  if (*at == '\r') ++at;
  if (*at != '\n') return nullptr;
  row->action = static_cast<std::uint8_t>(action);
  return at + 1;
}

Status LogParser::ParseSlowly(std::string_view record, std::int64_t line, Interaction* row) const {
  RecordSplitter splitter(separator_);
  if (Status status = splitter.Split(record); !status.ok()) {
    return MakeError(ErrorCode::kBadData, "{}:{}: {}", path_, line, status.error().message);
  }
  const auto& fields = splitter.fields();
  if (fields.size() != columns_.size()) {
    return MakeError(ErrorCode::kBadData, "{}:{}: the line has {} of {} fields{}", path_, line,
                     fields.size(), columns_.size(),
                     fields.size() < columns_.size() ? "; was the file cut?" : "");
  }
  row->action = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (Status status = SetField(columns_[i], fields[i], row); !status.ok()) {
      return MakeError(ErrorCode::kBadData, "{}:{}: {}", path_, line, status.error().message);
    }
  }
  return {};
}

Status LogParser::SetField(const LogColumn& column, std::string_view text, Interaction* row) const {
  auto refuse = [&](const char* needed) {
    return MakeError(ErrorCode::kBadData, "{} \"{}\" is not {}", column.name, text.substr(0, 80),
                     needed);
  };
  if (column.field == LogField::kIgnored) return {};
  if (column.field == LogField::kEvent) {
    std::optional<double> value = ParseNumber(text);
    if (!value || std::isnan(*value)) return refuse("a number, 0 or 1");
    if (*value != 0) row->action |= column.bit;
    return {};
  }
  if (column.field == LogField::kRating) {
    std::optional<double> stars = ParseNumber(text);
    double steps = stars ? *stars * steps_per_star_ : 0;
    if (!(steps >= 1 && steps <= 5 * steps_per_star_) || steps != std::floor(steps)) {
      return refuse(steps_per_star_ == 1 ? "1, 2, 3, 4 or 5 stars"
                                         : "0.5 to 5 stars in steps of a half");
    }
    row->action = static_cast<std::uint8_t>(steps - 1);
    return {};
  }
  std::optional<std::int64_t> value = ParseInteger(text);
  if (!value) return refuse("an integer");
  switch (column.field) {
    case LogField::kUser:
      row->user = *value;
      break;
    case LogField::kItem:
      row->item = *value;
      break;
    case LogField::kTime:
      row->time = *value;
      break;
    case LogField::kPlayTime:
      row->play_time = *value;
      break;
    case LogField::kDuration:
      row->duration = *value;
      break;
    default:
      if (!FitsDate(*value)) return refuse("a date such as 20220408");
      row->date = static_cast<std::int32_t>(*value);
  }
  return {};
}

Status ParseInParallel(const LogParser& parser, const RecordBlock& block, int threads,
                       std::vector<Interaction>* rows) {
  constexpr std::size_t kWorthwhileBytes = 1 << 20;
  // With quotes about, a line end in the middle may be inside of a field.
  std::size_t middle = block.text.find('\n', block.text.size() / 2);
  if (threads < 2 || block.has_quotes || block.text.size() < kWorthwhileBytes ||
      middle == block.text.npos) {
    return parser.Parse(block, rows);
  }
  RecordBlock first = block;
  RecordBlock second = block;
  first.text = block.text.substr(0, middle + 1);
  second.text = block.text.substr(middle + 1);
  std::vector<Interaction> behind;
  auto helper = std::async(std::launch::async, [&] { return parser.Parse(second, &behind); });
  Status status = parser.Parse(first, rows);
  Status helped = helper.get();
  HSTU_RETURN_IF_ERROR(std::move(status));
  if (!helped.ok()) {
    // Only now is it known on which line the second half begins.
    second.first_line += std::count(first.text.begin(), first.text.end(), '\n');
    return parser.Parse(second, &behind);
  }
  rows->insert(rows->end(), behind.begin(), behind.end());
  return {};
}

}  // namespace hstu
