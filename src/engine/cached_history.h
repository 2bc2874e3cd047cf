// What a request's history means given what is cached of its user.
#ifndef HSTU_ENGINE_CACHED_HISTORY_H_
#define HSTU_ENGINE_CACHED_HISTORY_H_

#include <cstdint>
#include <vector>

#include "cache/kv_cache.h"
#include "engine/sequence.h"
#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

struct CachedPlan {
  HistoryPlan history;
  UserState* user = nullptr;  // pinned; null: the cache has no room while others are pinned
};

// Compares a history with the cached one token by token and prepares the user's state for what has
// to be computed, as FORMATS has it: whole histories and continued ones, overlaps, truncation.
class CachedHistory {
 public:
  CachedHistory(const ModelConfig& config, bool truncate, KvCache* cache);

  // Errors leave the user's state as it was, but for a state that can't be continued, which is
  // dropped: kHistoryNotCached, kHistoryTooLong, kBadRequest. Gives the sequence the tokens before
  // its own that have to be computed again.
  Result<CachedPlan> Plan(Sequence* sequence);

 private:
  Result<CachedPlan> PlanWhole(Sequence* sequence, const UserState* known);
  Result<CachedPlan> PlanContinued(Sequence* sequence, const UserState* known);
  Result<CachedPlan> Continue(Sequence* sequence, const UserState& known);
  CachedPlan Extend(Sequence* sequence, const HistoryTokens& history, const StagePositions& resume);
  CachedPlan Restart(const Sequence& sequence, const HistoryTokens& history, int64_t skip);
  int64_t FillIn(const UserState& user, int64_t begin, int64_t end, Sequence* sequence) const;
  HistoryTokens Flatten(const Sequence& sequence, int64_t begin, int64_t num_context);

  const ModelConfig& config_;
  const bool truncate_;
  KvCache& cache_;
  std::vector<int64_t> flat_;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_CACHED_HISTORY_H_
