// One record of a separated-values file and its fields, as RFC 4180 and pandas read them.
#ifndef HSTU_DATA_CSV_H_
#define HSTU_DATA_CSV_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// The fields of one record. They point into the record, or into the splitter where a field's
// doubled quotes had to be undone, and are valid until the next Split.
class RecordSplitter {
 public:
  explicit RecordSplitter(std::string separator) : separator_(std::move(separator)) {}

  // `record` may end in "\n" or "\r\n". The error says what is wrong, not where.
  Status Split(std::string_view record);

  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  Status SplitQuoted(std::string_view record);
  Result<std::string_view> QuotedField(std::string_view* rest);

  std::string separator_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;
};

// `text` without '\n', "\r\n" or '\r' at its end.
std::string_view WithoutLineEnd(std::string_view text);

// `text` without blanks at both ends.
std::string_view WithoutBlanks(std::string_view text);

// A decimal integer, blanks around it allowed; nothing if it is none or does not fit.
std::optional<std::int64_t> ParseInteger(std::string_view text);

// A decimal number, blanks around it allowed.
std::optional<double> ParseNumber(std::string_view text);

// Appends `text` as a field, in quotes if it must be.
void AppendField(std::string_view text, std::string* to);

}  // namespace hstu

#endif  // HSTU_DATA_CSV_H_
