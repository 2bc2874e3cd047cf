#include "model/user_tokens.h"

#include <algorithm>

#include "base/error.h"

namespace hstu {
namespace {

Result<std::vector<std::int64_t>> RowsOf(const FeatureTable& table,
                                         const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> rows;
  rows.reserve(ids.size());
  for (const std::int64_t id : ids) {
    HSTU_ASSIGN_OR_RETURN(const std::int64_t row, table.RowOf(id));
    rows.push_back(row);
  }
  return rows;
}

Result<std::int64_t> ContextualRow(const FeatureTable& table, const Request& request) {
  for (const auto& [feature, id] : request.contextual) {
    if (feature == table.feature) return table.RowOf(id);
  }
  return MakeError(ErrorCode::kBadRequest,
                   "contextual: {} is missing; give it, or run with --disable-context",
                   table.feature);
}

}  // namespace

Result<UserTokens> ResolveTokens(const ModelFiles& files, const Request& request,
                                 bool disable_context) {
  const auto num_candidates = static_cast<std::int64_t>(request.candidates.size());
  if (num_candidates > files.config().max_num_candidates) {
    return MakeError(ErrorCode::kTooManyCandidates,
                     "{} candidates, max_num_candidates is {}: split the request", num_candidates,
                     files.config().max_num_candidates);
  }
  UserTokens tokens;
  if (!disable_context) {
    for (const FeatureTable* table : files.contextual()) {
      const Result<std::int64_t> row = ContextualRow(*table, request);
      if (!row.ok() && !tokens.context_error) tokens.context_error = row.error();
      tokens.contextual.push_back(row.ok() ? row.value() : 0);
    }
  }
  if (files.action() != nullptr) {
    if (request.actions.size() != request.items.size()) {
      return MakeError(ErrorCode::kBadRequest, "history: {} items but {} actions; one an item",
                       request.items.size(), request.actions.size());
    }
    HSTU_ASSIGN_OR_RETURN(tokens.actions, RowsOf(*files.action(), request.actions));
  }
  HSTU_ASSIGN_OR_RETURN(tokens.items, RowsOf(files.item(), request.items));
  HSTU_ASSIGN_OR_RETURN(tokens.candidates, RowsOf(files.item(), request.candidates));
  return tokens;
}

Status CheckHistoryLength(const ModelConfig& config, std::int64_t tokens, bool truncate,
                          bool may_truncate) {
  if (tokens <= config.max_history_tokens || truncate) return {};
  return MakeError(ErrorCode::kHistoryTooLong,
                   "history: {} tokens, max_history_tokens is {}; send fewer items{}", tokens,
                   config.max_history_tokens, may_truncate ? ", or run with --truncate" : "");
}

std::int64_t TokensToDrop(std::int64_t tokens, std::int64_t max_history_tokens, std::int64_t unit) {
  const std::int64_t over = tokens - max_history_tokens;
  if (over <= 0) return 0;
  return std::min((over + unit - 1) / unit * unit, tokens);
}

}  // namespace hstu
