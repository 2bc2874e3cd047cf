// A request's ids as rows of the model's tables, checked against the model's limits.
#ifndef HSTU_MODEL_USER_TOKENS_H_
#define HSTU_MODEL_USER_TOKENS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hstu/hstu.hpp"
#include "model/weights.h"

namespace hstu {

struct UserTokens {
  std::vector<std::int64_t> contextual;  // rows; empty where context is disabled
  std::optional<Error> context_error;    // why contextual can't be read, where that matters
  std::vector<std::int64_t> items;       // rows
  std::vector<std::int64_t> actions;     // rows, one an item; empty where the model has none
  std::vector<std::int64_t> candidates;  // rows of the item table

  std::int64_t item_tokens() const {
    return static_cast<std::int64_t>(items.size() + actions.size());
  }
  // Contextual ones and the items'.
  std::int64_t history_tokens() const {
    return static_cast<std::int64_t>(contextual.size()) + item_tokens();
  }
};

// Errors: kBadRequest (items without actions), kIdOutOfRange, kTooManyCandidates; what is wrong
// with contextual features is for the caller to weigh, who knows whether they are read. Features
// and actions that the model doesn't know are ignored.
Result<UserTokens> ResolveTokens(const ModelFiles& files, const Request& request,
                                 bool disable_context);

// kHistoryTooLong where `tokens` are more than max_history_tokens and not truncated.
// `may_truncate`: the message offers it.
Status CheckHistoryLength(const ModelConfig& config, std::int64_t tokens, bool truncate,
                          bool may_truncate);

// How many of `tokens` history tokens a user gives up at the front so that the rest fits into
// max_history_tokens: the fewest whole units of `unit` tokens, or all where that is less.
std::int64_t TokensToDrop(std::int64_t tokens, std::int64_t max_history_tokens, std::int64_t unit);

}  // namespace hstu

#endif  // HSTU_MODEL_USER_TOKENS_H_
