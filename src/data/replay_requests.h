// What a ranking service sends at the moments of a replay.
#ifndef HSTU_DATA_REPLAY_REQUESTS_H_
#define HSTU_DATA_REPLAY_REQUESTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/replay.h"
#include "data/simulate.h"
#include "data/user_days.h"
#include "hstu/hstu.hpp"

namespace hstu {

// A history within the model's limit is sent whole. One over it is sent as what is new since the
// user's last request, where the scorer keeps histories, and else whole, to be truncated.
class ReplayRequests {
 public:
  ReplayRequests(const SimulateOptions& options, const UserDays& days, bool continues);

  // The request at a moment; moments have to come in the order of the replay.
  Request Next(const ReplayMoment& moment);
  // The same with the whole history, for a scorer that no longer knows the user.
  Request Whole(const ReplayMoment& moment);

  // What the user then did with the request's candidates.
  std::vector<std::int64_t> CandidateActions(const ReplayMoment& moment) const;

  // Contextual tokens and the whole history's.
  std::int64_t HistoryTokens(const ReplayMoment& moment) const;

 private:
  // The row with which the history begins.
  std::int64_t FirstRow(const ReplayMoment& moment) const;
  std::int64_t CandidatesEnd(const ReplayMoment& moment) const;
  // History items from `start` on, in items of the history.
  Request Make(const ReplayMoment& moment, std::int64_t start);

  const SimulateOptions& options_;
  const UserDays& days_;
  const bool continues_;
  // Items that the scorer has had of the history that begins with a row.
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> unused_;
};

}  // namespace hstu

#endif  // HSTU_DATA_REPLAY_REQUESTS_H_
