// What the columns of a log file mean.
#ifndef HSTU_DATA_LOG_FORMAT_H_
#define HSTU_DATA_LOG_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hstu {

enum class LogField : std::uint8_t {
  kIgnored,
  kUser,
  kItem,
  kTime,
  kPlayTime,
  kDuration,
  kDate,
  kEvent,   // not 0: sets the column's bit of the action
  kRating,  // stars, which give the action's code
};

struct LogColumn {
  std::string name;
  LogField field = LogField::kIgnored;
  std::uint8_t bit = 0;  // of an event: what it adds to the action
};

struct LogFormat {
  std::string separator;
  // Without a header the columns stand in this order, all of them.
  bool has_header = true;
  std::vector<LogColumn> columns;  // all are needed; a file may hold others, in any order
  int steps_per_star = 0;          // 1: whole stars, code = stars - 1; 2: half stars, 2 x stars - 1
};

LogFormat KuaiRandLog();
LogFormat MovieLens1MLog();
LogFormat MovieLens20MLog();

}  // namespace hstu

#endif  // HSTU_DATA_LOG_FORMAT_H_
