#include "engine/cached_history.h"

#include <algorithm>

#include "base/error.h"

namespace hstu {

CachedHistory::CachedHistory(const ModelConfig& config, bool truncate, KvCache* cache)
    : config_(config), truncate_(truncate), cache_(*cache) {}

Result<CachedPlan> CachedHistory::Plan(const Sequence& sequence) {
  const UserState* known = cache_.Find(*sequence.user_id);
  return sequence.history_start.has_value() ? PlanContinued(sequence, known)
                                            : PlanWhole(sequence, known);
}

Result<CachedPlan> CachedHistory::PlanWhole(const Sequence& sequence, const UserState* known) {
  if (sequence.tokens.context_error) return *sequence.tokens.context_error;
  const HistoryTokens history =
      Flatten(sequence, 0, static_cast<int64_t>(sequence.tokens.contextual.size()));
  const auto tokens = static_cast<int64_t>(history.tokens.size());
  HSTU_RETURN_IF_ERROR(CheckHistoryLength(config_, tokens, truncate_, true));
  const int64_t skip =
      TokensToDrop(tokens, config_.max_history_tokens, cache_.pool().layout().page.page_tokens);
  std::optional<int64_t> resume;
  // Within the limit the answer is the one from scratch, so nothing that was computed after an
  // eviction can be used.
  if (known != nullptr && (known->first == 0 || skip > 0)) {
    resume = KvCache::FirstDifference(*known, history);
  }
  if (resume.has_value() || known == nullptr) {
    if (skip == 0 || resume.has_value()) return Extend(sequence, history, resume.value_or(0));
  }
  UserState* user = cache_.Restart(*sequence.user_id, history, skip);
  return CachedPlan{{skip, skip, tokens, 0}, user};
}

Result<CachedPlan> CachedHistory::PlanContinued(const Sequence& sequence, const UserState* known) {
  const int64_t start = *sequence.history_start;
  const int64_t per_item = config_.tokens_per_item();
  if (known == nullptr) {
    if (start > 0) {
      return MakeError(ErrorCode::kHistoryNotCached,
                       "history_start {}: 0 items of the user are known; send the whole history",
                       start);
    }
    if (sequence.tokens.context_error) return *sequence.tokens.context_error;
    const HistoryTokens history =
        Flatten(sequence, 0, static_cast<int64_t>(sequence.tokens.contextual.size()));
    HSTU_RETURN_IF_ERROR(
        CheckHistoryLength(config_, static_cast<int64_t>(history.tokens.size()), false, false));
    return Extend(sequence, history, 0);
  }
  const int64_t known_items = (known->count - known->num_context) / per_item;
  if (start > known_items) {
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: {} items of the user are known; send what is between, or "
                     "the whole history",
                     start, known_items);
  }
  const HistoryTokens history = Flatten(sequence, known->num_context + start * per_item, 0);
  const int64_t end = history.begin + static_cast<int64_t>(history.tokens.size());
  const std::optional<int64_t> resume =
      end < known->first ? end : KvCache::FirstDifference(*known, history);
  if (!resume.has_value()) {
    const int64_t first = known->first;
    cache_.Erase(*sequence.user_id);
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: the history differs at or before token {}, the first that "
                     "is kept; the state is dropped, send the whole history",
                     start, first);
  }
  if (*resume == end && end < known->count) {
    // All that is given is known, and more: nothing changes.
    HistoryTokens nothing = history;
    nothing.begin = known->count;
    nothing.tokens = {};
    return Extend(sequence, nothing, known->count);
  }
  HSTU_RETURN_IF_ERROR(CheckHistoryLength(config_, end - *resume, false, false));
  return Extend(sequence, history, *resume);
}

Result<CachedPlan> CachedHistory::Extend(const Sequence& sequence, const HistoryTokens& history,
                                         int64_t resume) {
  UserState* user = cache_.Extend(*sequence.user_id, history, resume);
  if (user == nullptr) return CachedPlan{};
  const int64_t first_item =
      std::max<int64_t>(0, history.begin - user->num_context) / config_.tokens_per_item();
  return CachedPlan{{user->first, resume, user->count, first_item}, user};
}

// The contextual tokens (where `num_context` says so) and the items' as one list.
HistoryTokens CachedHistory::Flatten(const Sequence& sequence, int64_t begin, int64_t num_context) {
  const UserTokens& tokens = sequence.tokens;
  flat_.assign(tokens.contextual.begin(), tokens.contextual.begin() + num_context);
  for (size_t i = 0; i < tokens.items.size(); ++i) {
    flat_.push_back(tokens.items[i]);
    if (!tokens.actions.empty()) flat_.push_back(tokens.actions[i]);
  }
  return {begin, flat_, num_context};
}

}  // namespace hstu
