// Turns the records of a log file into interactions.
#ifndef HSTU_DATA_LOG_PARSER_H_
#define HSTU_DATA_LOG_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/interaction.h"
#include "data/log_format.h"
#include "data/record_blocks.h"
#include "hstu/hstu.hpp"

namespace hstu {

class LogParser {
 public:
  // `header`: the file's first record; not read where the format has none. A column that is
  // missing or there twice is an error.
  static Result<LogParser> Create(const std::string& path, const LogFormat& format,
                                  std::string_view header);

  // Appends the interactions of `block`, blank lines left out. Errors name file, line and column.
  // Safe to call from several threads on different blocks.
  Status Parse(const RecordBlock& block, std::vector<Interaction>* rows) const;

 private:
  LogParser(std::string path, const LogFormat& format);

  const char* ParsePlain(const char* at, Interaction* row) const;
  Status ParseSlowly(std::string_view record, std::int64_t line, Interaction* row) const;
  Status SetField(const LogColumn& column, std::string_view text, Interaction* row) const;

  bool TakeSeparator(const char** at) const;

  std::string path_;
  std::string separator_;  // of one character or two
  int steps_per_star_;
  std::vector<LogColumn> columns_;  // of the file, in its order
};

// Parses with two threads where that is worth it.
Status ParseInParallel(const LogParser& parser, const RecordBlock& block, int threads,
                       std::vector<Interaction>* rows);

}  // namespace hstu

#endif  // HSTU_DATA_LOG_PARSER_H_
