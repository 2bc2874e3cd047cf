#include "data/csv.h"

#include <charconv>

#include "base/error.h"

namespace hstu {

Status RecordSplitter::Split(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  record = WithoutLineEnd(record);
  if (record.find('"') != record.npos) return SplitQuoted(record);
  for (;;) {
    std::size_t at = record.find(separator_);
    fields_.push_back(record.substr(0, at));
    if (at == record.npos) return {};
    record.remove_prefix(at + separator_.size());
  }
}

Status RecordSplitter::SplitQuoted(std::string_view record) {
  for (;;) {
    if (!record.empty() && record.front() == '"') {
      HSTU_ASSIGN_OR_RETURN(std::string_view field, QuotedField(&record));
      fields_.push_back(field);
    } else {
      std::size_t at = record.find(separator_);
      fields_.push_back(record.substr(0, at));
      record.remove_prefix(at == record.npos ? record.size() : at);
    }
    if (record.empty()) return {};
    if (!record.starts_with(separator_)) {
      return MakeError(ErrorCode::kBadData, "field {} goes on after its closing quote",
                       fields_.size());
    }
    record.remove_prefix(separator_.size());
  }
}

// Takes a quoted field off the front of `rest`, which begins with its quote.
Result<std::string_view> RecordSplitter::QuotedField(std::string_view* rest) {
  rest->remove_prefix(1);
  std::string* joined = nullptr;  // needed only where quotes are doubled
  for (;;) {
    std::size_t quote = rest->find('"');
    if (quote == rest->npos) {
      return MakeError(ErrorCode::kBadData, "field {} opens a quote and never closes it",
                       fields_.size() + 1);
    }
    std::string_view part = rest->substr(0, quote);
    rest->remove_prefix(quote + 1);
    bool doubled = rest->starts_with('"');
    if (doubled) rest->remove_prefix(1);
    if (!doubled && joined == nullptr) return part;
    if (joined == nullptr) joined = &unquoted_.emplace_back();
    joined->append(part);
    if (!doubled) return std::string_view(*joined);
    joined->push_back('"');
  }
}

std::string_view WithoutLineEnd(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

namespace {

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  text = WithoutBlanks(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  return Parse<std::int64_t>(text);
}

std::optional<double> ParseNumber(std::string_view text) { return Parse<double>(text); }

void AppendField(std::string_view text, std::string* to) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    to->append(text);
    return;
  }
  to->push_back('"');
  for (char c : text) {
    if (c == '"') to->push_back('"');
    to->push_back(c);
  }
  to->push_back('"');
}

}  // namespace hstu
