#include "data/processed_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

// An integer, also where pandas had to write it as 12.0 because of gaps in the column.
std::optional<std::int64_t> ParseValue(std::string_view text) {
  if (std::optional<std::int64_t> value = ParseInteger(text)) return value;
  std::optional<double> number = ParseNumber(text);
  constexpr double kLimit = 9007199254740992;  // from here on floats skip integers
  if (!number || !(std::abs(*number) < kLimit) || *number != std::trunc(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

}  // namespace

Status ParseIntegerList(std::string_view text, std::vector<std::int64_t>* values) {
  values->clear();
  text = WithoutBlanks(text);
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) {
    return MakeError(ErrorCode::kBadData, "\"{}\" is no list such as [5, 9]", text.substr(0, 40));
  }
  const char* at = text.data() + 1;
  const char* end = text.data() + text.size() - 1;
  auto skip_blanks = [&] {
    while (at != end && *at == ' ') ++at;
  };
  skip_blanks();
  while (at != end) {
    std::int64_t value;
    auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      return MakeError(
          ErrorCode::kBadData, "element {} of the list is no integer: \"{}\"", values->size() + 1,
          std::string_view(at, std::min<std::size_t>(40, static_cast<std::size_t>(end - at))));
    }
    values->push_back(value);
    at = next;
    skip_blanks();
    if (at == end) break;
    if (*at++ != ',') {
      return MakeError(ErrorCode::kBadData, "element {} of the list is no integer", values->size());
    }
    skip_blanks();
    if (at == end) {
      return MakeError(ErrorCode::kBadData, "the list ends in a comma after element {}",
                       values->size());
    }
  }
  return {};
}

ProcessedReader::ProcessedReader(RecordBlocks blocks)
    : blocks_(std::move(blocks)), splitter_(",") {}

Result<ProcessedReader> ProcessedReader::Open(const std::string& path,
                                              const ProcessedColumns& columns) {
  HSTU_ASSIGN_OR_RETURN(RecordBlocks blocks,
                        RecordBlocks::Open(path, {.block_bytes = kBlockBytes}));
  ProcessedReader reader(std::move(blocks));
  HSTU_RETURN_IF_ERROR(reader.ReadHeader(columns));
  return reader;
}

// The next record that is not blank; line_ is then past it.
Result<bool> ProcessedReader::NextRecord(std::string_view* record) {
  for (;;) {
    if (rest_.empty()) {
      RecordBlock block;
      HSTU_ASSIGN_OR_RETURN(bool more, blocks_.Next(&block));
      if (!more) return false;
      rest_ = block.text;
      line_ = block.first_line;
    }
    *record = rest_.substr(0, RecordEnd(rest_));
    rest_.remove_prefix(record->size());
    line_ += std::count(record->begin(), record->end(), '\n');
    if (!WithoutBlanks(WithoutLineEnd(*record)).empty()) return true;
  }
}

Status ProcessedReader::ReadHeader(const ProcessedColumns& columns) {
  std::string_view header;
  HSTU_ASSIGN_OR_RETURN(bool any, NextRecord(&header));
  if (!any) return At(1, Error{ErrorCode::kBadData, "the file is empty; a header is needed"});
  if (Status status = splitter_.Split(header); !status.ok()) return At(1, status.error());
  const auto& names = splitter_.fields();
  fields_ = names.size();
  auto find = [&](const std::vector<std::string>& wanted, std::vector<Column>* found) -> Status {
    for (const std::string& name : wanted) {
      auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) {
        return At(1, MakeError(ErrorCode::kBadData,
                               "there is no column {}; is this a file of `hstu preprocess` for the "
                               "model's dataset?",
                               name));
      }
      found->push_back({name, static_cast<std::size_t>(at - names.begin())});
    }
    return {};
  };
  HSTU_RETURN_IF_ERROR(find(columns.values, &values_));
  return find(columns.lists, &lists_);
}

Result<bool> ProcessedReader::Next(ProcessedRow* row) {
  std::string_view record;
  HSTU_ASSIGN_OR_RETURN(bool more, NextRecord(&record));
  if (!more) return false;
  row->line = line_ - std::count(record.begin(), record.end(), '\n');
  if (Status status = Parse(record, row); !status.ok()) return At(row->line, status.error());
  return true;
}

Status ProcessedReader::Parse(std::string_view record, ProcessedRow* row) {
  HSTU_RETURN_IF_ERROR(splitter_.Split(record));
  const auto& fields = splitter_.fields();
  if (fields.size() != fields_) {
    return MakeError(ErrorCode::kBadData, "the line has {} of {} fields{}", fields.size(), fields_,
                     fields.size() < fields_ ? "; was the file cut?" : "");
  }
  row->values.clear();
  for (const Column& column : values_) {
    std::string_view text = fields[column.field];
    std::optional<std::int64_t> value = ParseValue(text);
    if (!value) {
      return MakeError(ErrorCode::kBadData, "{} \"{}\" is not an integer", column.name,
                       text.substr(0, 80));
    }
    row->values.push_back(*value);
  }
  row->lists.resize(lists_.size());
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    Status status = ParseIntegerList(fields[lists_[i].field], &row->lists[i]);
    if (!status.ok()) {
      return MakeError(ErrorCode::kBadData, "{}: {}", lists_[i].name, status.error().message);
    }
  }
  return {};
}

Error ProcessedReader::At(std::int64_t line, const Error& error) const {
  return MakeError(error.code, "{}:{}: {}", file().path(), line, error.message);
}

Result<std::vector<std::string>> ReadColumnNames(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(RecordBlocks blocks,
                        RecordBlocks::Open(path, {.block_bytes = kBlockBytes}));
  RecordBlock block;
  HSTU_ASSIGN_OR_RETURN(bool any, blocks.Next(&block));
  if (!any) return MakeError(ErrorCode::kBadData, "{}:1: the file is empty", path);
  RecordSplitter splitter(",");
  Status status = splitter.Split(block.text.substr(0, RecordEnd(block.text)));
  if (!status.ok()) {
    return MakeError(ErrorCode::kBadData, "{}:1: {}", path, status.error().message);
  }
  return std::vector<std::string>(splitter.fields().begin(), splitter.fields().end());
}

}  // namespace hstu
