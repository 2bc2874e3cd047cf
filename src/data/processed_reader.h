// Reads the processed CSV files, row by row: a row is a user, or a user's day.
#ifndef HSTU_DATA_PROCESSED_READER_H_
#define HSTU_DATA_PROCESSED_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv.h"
#include "data/record_blocks.h"
#include "hstu/hstu.hpp"

namespace hstu {

// The columns that are wanted. All must be there; others are skipped.
struct ProcessedColumns {
  std::vector<std::string> values;  // one integer a row: user_id, date, contextual features
  std::vector<std::string> lists;   // a list of integers a row: items, actions, times
};

struct ProcessedRow {
  std::int64_t line = 0;
  std::vector<std::int64_t> values;              // as in ProcessedColumns
  std::vector<std::vector<std::int64_t>> lists;  // as in ProcessedColumns
};

class ProcessedReader {
 public:
  static Result<ProcessedReader> Open(const std::string& path, const ProcessedColumns& columns);

  // False at the end. Memory: the longest row. Errors name file, line and column.
  Result<bool> Next(ProcessedRow* row);

  const InputFile& file() const { return blocks_.file(); }

 private:
  // Where a wanted column stands in the file.
  struct Column {
    std::string name;
    std::size_t field = 0;
  };

  explicit ProcessedReader(RecordBlocks blocks);
  Status ReadHeader(const ProcessedColumns& columns);
  Result<bool> NextRecord(std::string_view* record);
  Status Parse(std::string_view record, ProcessedRow* row);
  Error At(std::int64_t line, const Error& error) const;

  RecordBlocks blocks_;
  RecordSplitter splitter_;
  std::string_view rest_;  // of the block
  std::int64_t line_ = 1;  // where rest_ begins
  std::size_t fields_ = 0;
  std::vector<Column> values_;
  std::vector<Column> lists_;
};

// The names of a CSV file's columns.
Result<std::vector<std::string>> ReadColumnNames(const std::string& path);

// "[5, 9]" -> 5, 9, which replace what `values` holds. The error says where it is no list.
Status ParseIntegerList(std::string_view text, std::vector<std::int64_t>* values);

}  // namespace hstu

#endif  // HSTU_DATA_PROCESSED_READER_H_
