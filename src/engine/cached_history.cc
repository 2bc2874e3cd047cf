#include "engine/cached_history.h"

#include <algorithm>

#include "base/error.h"

namespace hstu {

CachedHistory::CachedHistory(const ModelConfig& config, bool truncate, KvCache* cache)
    : config_(config), truncate_(truncate), cache_(*cache) {}

Result<CachedPlan> CachedHistory::Plan(Sequence* sequence) {
  const UserState* known = cache_.Find(*sequence->user_id);
  return sequence->history_start.has_value() ? PlanContinued(sequence, known)
                                             : PlanWhole(sequence, known);
}

Result<CachedPlan> CachedHistory::PlanWhole(Sequence* sequence, const UserState* known) {
  if (sequence->tokens.context_error) return *sequence->tokens.context_error;
  const HistoryTokens history =
      Flatten(*sequence, 0, static_cast<int64_t>(sequence->tokens.contextual.size()));
  const auto tokens = static_cast<int64_t>(history.tokens.size());
  HSTU_RETURN_IF_ERROR(CheckHistoryLength(config_, tokens, truncate_, true));
  const int64_t page_tokens = cache_.pool().layout().page.page_tokens;
  const int64_t skip =
      TokensToDrop(tokens, config_.max_history_tokens, EvictionUnit(config_.stages, page_tokens));
  // Within the limit the answer is the one from scratch, so nothing that was computed after an
  // eviction can be used.
  if (known != nullptr && (known->first() == 0 || skip > 0)) {
    const std::optional<int64_t> difference = KvCache::FirstDifference(*known, history);
    std::optional<StagePositions> resume;
    if (difference.has_value()) resume = cache_.ResumeAt(*known, history, *difference);
    if (resume.has_value()) return Extend(sequence, history, *resume);
  }
  return Restart(*sequence, history, skip);
}

Result<CachedPlan> CachedHistory::PlanContinued(Sequence* sequence, const UserState* known) {
  if (known != nullptr) return Continue(sequence, *known);
  if (*sequence->history_start > 0) {
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: 0 items of the user are known; send the whole history",
                     *sequence->history_start);
  }
  if (sequence->tokens.context_error) return *sequence->tokens.context_error;
  const HistoryTokens history =
      Flatten(*sequence, 0, static_cast<int64_t>(sequence->tokens.contextual.size()));
  HSTU_RETURN_IF_ERROR(
      CheckHistoryLength(config_, static_cast<int64_t>(history.tokens.size()), false, false));
  return Restart(*sequence, history, 0);
}

Result<CachedPlan> CachedHistory::Continue(Sequence* sequence, const UserState& known) {
  const int64_t start = *sequence->history_start;
  const int64_t per_item = config_.tokens_per_item();
  const int64_t known_items = (known.count() - known.num_context) / per_item;
  if (start > known_items) {
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: {} items of the user are known; send what is between, or "
                     "the whole history",
                     start, known_items);
  }
  HistoryTokens history = Flatten(*sequence, known.num_context + start * per_item, 0);
  const int64_t end = history.begin + static_cast<int64_t>(history.tokens.size());
  // Items at evicted positions are taken as equal.
  int64_t difference = KvCache::FirstDifference(known, history).value_or(end);
  if (difference == end && end < known.count()) {
    // All that is given is known, and more: nothing changes.
    history = {known.count(), {}, 0};
    difference = known.count();
  }
  HSTU_RETURN_IF_ERROR(CheckHistoryLength(config_, end - difference, false, false));
  const std::optional<StagePositions> resume = cache_.ResumeAt(known, history, difference);
  if (!resume.has_value()) {
    const int64_t first = known.first();
    cache_.Forget(*sequence->user_id);
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: the history differs at token {}; to go on from there needs "
                     "more than what is kept, from token {} on; the state is dropped, send the "
                     "whole history",
                     start, difference, first);
  }
  return Extend(sequence, history, *resume);
}

CachedPlan CachedHistory::Extend(Sequence* sequence, const HistoryTokens& history,
                                 const StagePositions& resume) {
  UserState* user = cache_.Extend(*sequence->user_id, history, resume);
  if (user == nullptr) return {};
  CachedPlan plan;
  plan.user = user;
  for (size_t i = 0; i < resume.size(); ++i) {
    plan.history.stages.push_back({user->stages[i].first, resume[i], user->stages[i].count});
  }
  plan.history.first_item = FillIn(*user, resume[0], history.begin, sequence);
  return plan;
}

CachedPlan CachedHistory::Restart(const Sequence& sequence, const HistoryTokens& history,
                                  int64_t skip) {
  UserState* user = cache_.Restart(*sequence.user_id, history, skip);
  if (user == nullptr) return {};
  return {PlanFresh(config_.stages, skip, static_cast<int64_t>(history.tokens.size())), user};
}

// Puts the known tokens [begin, end) in front of the sequence's items. Returns which of the user's
// items comes first then.
int64_t CachedHistory::FillIn(const UserState& user, int64_t begin, int64_t end,
                              Sequence* sequence) const {
  const auto item_of = [&](int64_t position) {
    return std::max<int64_t>(0, position - user.num_context) / config_.tokens_per_item();
  };
  if (begin >= end) return item_of(end);
  UserTokens& tokens = sequence->tokens;
  // An item of which only the action is kept isn't read.
  const auto token = [&](int64_t position) {
    return position < user.first() ? 0 : user.tokens[position - user.first()];
  };
  for (int64_t position = begin; position < user.num_context; ++position) {
    tokens.contextual[position] = token(position);
  }
  std::vector<int64_t> items;
  std::vector<int64_t> actions;
  for (int64_t item = item_of(begin); item < item_of(end); ++item) {
    const int64_t position = user.num_context + item * config_.tokens_per_item();
    items.push_back(token(position));
    if (config_.action_feature) actions.push_back(token(position + 1));
  }
  tokens.items.insert(tokens.items.begin(), items.begin(), items.end());
  tokens.actions.insert(tokens.actions.begin(), actions.begin(), actions.end());
  return item_of(begin);
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
