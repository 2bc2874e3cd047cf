// Sorts more interactions than fit in memory: sorted runs are spilled to a file and merged user by
// user.
#ifndef HSTU_DATA_INTERACTION_RUNS_H_
#define HSTU_DATA_INTERACTION_RUNS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/interaction.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct RunLimits {
  std::int64_t run_rows = 4 << 20;       // sorted at once, which takes 150 bytes a row
  std::int64_t resident_rows = 4 << 20;  // kept in memory before runs are spilled
  std::string spill_folder;              // holds the spilled runs, which have no name there
};

// Part of one log: its rows by user, then time; ties stay in file order.
struct InteractionRun {
  int log = 0;
  std::vector<Interaction> rows;  // empty if spilled
  std::int64_t spilled_at = 0;    // byte in the spill file
  std::int64_t spilled_rows = 0;
};

class InteractionRuns {
 public:
  explicit InteractionRuns(RunLimits limits);
  ~InteractionRuns();
  InteractionRuns(const InteractionRuns&) = delete;
  InteractionRuns& operator=(const InteractionRuns&) = delete;

  // Rows of log number `log` in file order. Logs come one after another, from 0.
  Status Append(int log, std::span<const Interaction> rows);
  Status Finish();

  const std::vector<InteractionRun>& runs() const { return runs_; }
  int spill_fd() const { return spill_fd_; }

 private:
  Status CloseRun();
  Status Spill(std::span<const Interaction> rows, InteractionRun* run);

  class Sorter;
  RunLimits limits_;
  std::unique_ptr<Sorter> sorter_;  // until Finish
  std::vector<InteractionRun> runs_;
  std::vector<Interaction> open_;  // rows of the run that is being filled
  int open_log_ = 0;
  std::int64_t resident_rows_ = 0;
  int spill_fd_ = -1;
  std::int64_t spilled_bytes_ = 0;
};

// One user's interactions in one log, by time; ties in file order.
struct LogPart {
  int log = 0;
  std::span<const Interaction> rows;
};

// Walks the users of some logs in ascending order. Several may walk the same runs at once.
class UserWalk {
 public:
  // The logs `first_log` up to, without it, `end_log`.
  UserWalk(const InteractionRuns& runs, int first_log, int end_log);
  ~UserWalk();

  // Goes to the next user; false when there are no more.
  Result<bool> Next();

  // The user's interactions in each log that has any, in the order of the logs; at least one part.
  // Valid until Next or ByTime.
  const std::vector<LogPart>& parts() const { return parts_; }

  // All of the user's interactions by time; ties by log, then in file order. Valid until Next.
  std::span<const Interaction> ByTime();

 private:
  class Reader;
  std::vector<Reader*> HoldersOfNextUser();
  Status Join(const std::vector<Reader*>& holders);

  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<LogPart> parts_;
  std::vector<Interaction>
      joined_;  // what the parts point into, unless it is one that is in memory
};

}  // namespace hstu

#endif  // HSTU_DATA_INTERACTION_RUNS_H_
