// The requests that a ranking service would have got: the intervals of processed_batches.csv, in
// the order of time.
#ifndef HSTU_DATA_REPLAY_H_
#define HSTU_DATA_REPLAY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/scratch_list.h"
#include "data/user_days.h"
#include "hstu/hstu.hpp"

namespace hstu {

// The moment after an interval: what the user did until then is the history.
struct ReplayMoment {
  std::int64_t row = 0;   // of the UserDays
  std::int64_t end = 0;   // of the interval, in items of the user's stream
  std::int64_t time = 0;  // of the interval's last item, and no earlier than the ones before it
};

class Replay {
 public:
  // Pairs the intervals of `path`, a processed_batches.csv, with the rows of `days`. Intervals of a
  // user and date go to the rows of that user and date in the order of both files; those without a
  // row are skipped. Errors name file and line: an interval that none of its rows has left.
  static Result<Replay> Open(const std::string& path, const UserDays& days);

  // By date, then time; a user's intervals never pass each other.
  std::span<const ReplayMoment> moments() const { return moments_.values(); }
  std::int64_t skipped() const { return skipped_; }

 private:
  Replay(const UserDays& days, ScratchList<ReplayMoment> moments);
  Status Read(const std::string& path);
  Status Add(const std::string& path, std::int64_t line, std::int64_t user, std::int64_t date,
             std::int64_t time, std::int64_t end);
  void Order();

  const UserDays* days_;
  ScratchList<ReplayMoment> moments_;
  std::vector<std::int64_t> paired_;  // of every row: intervals that are used or were passed over
  std::int64_t skipped_ = 0;
};

}  // namespace hstu

#endif  // HSTU_DATA_REPLAY_H_
