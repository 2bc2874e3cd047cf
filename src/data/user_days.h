// All of processed_seqs_inference.csv: users' days, each user's in order, as one stream of items.
#ifndef HSTU_DATA_USER_DAYS_H_
#define HSTU_DATA_USER_DAYS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_list.h"
#include "data/processed_reader.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct UserDaysColumns {
  std::string items;
  std::optional<std::string> actions;   // nothing: actions are not read, and 0
  std::vector<std::string> contextual;  // one value a row
};

// A row of the file: what a user did on a day, as one log has it. The items of a user's rows, one
// row after the other, are the user's stream.
struct UserDay {
  std::int64_t user = 0;
  std::int64_t date = 0;  // 0 where the file has no dates
  std::int64_t line = 0;
  std::int64_t begin = 0;      // in the user's stream
  std::int64_t end = 0;        // in the user's stream
  std::int64_t first_row = 0;  // of the user
  // Where the row's parts lie among those of all rows, in the order of the file.
  std::int64_t file_row = 0;
  std::int64_t first_item = 0;
  std::int64_t first_interval = 0;
  std::int64_t num_intervals = 0;
};

class UserDays {
 public:
  // Reads `path`. Items and intervals lie in temporary files, so memory grows with the rows alone.
  // Errors name file, line and column.
  static Result<UserDays> Open(const std::string& path, const UserDaysColumns& columns);

  const std::string& path() const { return path_; }
  bool has_dates() const { return has_dates_; }
  std::int64_t num_users() const { return num_users_; }

  // By user, then date; rows of one user and date in the order of the file.
  std::span<const UserDay> rows() const { return rows_; }
  const UserDay& row(std::int64_t index) const { return rows_[static_cast<std::size_t>(index)]; }
  // The rows of a user and date: [first, second).
  std::pair<std::int64_t, std::int64_t> Find(std::int64_t user, std::int64_t date) const;
  // The first row of the day of a row; without dates every row is a day.
  std::int64_t FirstRowOfDay(std::int64_t row) const;
  // The items of a user, in all rows.
  std::int64_t StreamItems(std::int64_t row) const;

  // Ends of a row's intervals, in items of the row.
  std::span<const std::int64_t> Intervals(std::int64_t row) const;
  std::span<const std::int64_t> Contextual(std::int64_t row) const;
  // Items [begin, end) of the stream to which the row belongs replace what both hold.
  void Copy(std::int64_t row, std::int64_t begin, std::int64_t end,
            std::vector<std::int64_t>* items, std::vector<std::int64_t>* actions) const;

 private:
  struct Event {
    std::int64_t item;
    std::int64_t action;
  };

  UserDays(std::string path, bool has_dates, std::size_t num_contextual, ScratchList<Event> events,
           ScratchList<std::int64_t> intervals);
  Status Read(const UserDaysColumns& columns);
  Status Add(const ProcessedRow& row, bool has_actions);
  void OrderRows();

  std::string path_;
  bool has_dates_;
  std::size_t num_contextual_;
  std::int64_t num_users_ = 0;
  std::vector<UserDay> rows_;
  std::vector<std::int64_t> contextual_;  // [rows, num_contextual], in the order of the file
  ScratchList<Event> events_;
  ScratchList<std::int64_t> intervals_;
};

}  // namespace hstu

#endif  // HSTU_DATA_USER_DAYS_H_
