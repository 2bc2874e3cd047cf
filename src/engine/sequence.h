// A request that passed all checks which don't depend on what is cached.
#ifndef HSTU_ENGINE_SEQUENCE_H_
#define HSTU_ENGINE_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/stages.h"
#include "model/user_tokens.h"

namespace hstu {

struct TierLookup;

struct Sequence {
  int64_t request;  // index of its answer
  UserTokens tokens;
  std::optional<std::string> user_id;    // absent: nobody's state is read or kept
  std::optional<int64_t> history_start;  // in items; absent: the history is whole
  std::shared_ptr<TierLookup> lookup;    // of the user, not used yet; null: none

  int64_t num_candidates() const { return static_cast<int64_t>(tokens.candidates.size()); }
};

// Positions of one stage, in its own tokens.
struct StageSpan {
  int64_t first = 0;   // the oldest that is seen
  int64_t resume = 0;  // the first to compute
  int64_t end = 0;     // one past the last
};

// Where a sequence's history begins and what of it is left to compute, in each stage.
struct HistoryPlan {
  std::vector<StageSpan> stages;
  int64_t first_item = 0;  // of the user's items, the one that the sequence's items begin with

  const StageSpan& tokens() const { return stages[0]; }  // of the user
};

// A history of `tokens` tokens of which nothing is known and the first `skip` are dropped unseen.
HistoryPlan PlanFresh(std::span<const Stage> stages, int64_t skip, int64_t tokens);

}  // namespace hstu

#endif  // HSTU_ENGINE_SEQUENCE_H_
