#include "engine/warm_up.h"

#include <algorithm>
#include <cstddef>

namespace hstu {
namespace {

void Repeat(std::vector<int64_t>* ids, int64_t size) {
  const std::size_t given = ids->size();
  if (given == 0) return;
  for (std::size_t i = given; static_cast<int64_t>(i) < size; ++i)
    ids->push_back((*ids)[i - given]);
  ids->resize(static_cast<std::size_t>(size));
}

// `like` with so many tokens in all.
Request Fill(const ModelConfig& config, Request like, int64_t tokens, int64_t context) {
  like.user_id.reset();
  like.history_start.reset();
  if (like.candidates.empty()) like.candidates.push_back(like.items.back());
  const int64_t per_item = config.tokens_per_item();
  const int64_t most_items = (config.max_history_tokens - context) / per_item;
  const auto candidates = static_cast<int64_t>(like.candidates.size());
  const int64_t items =
      std::clamp<int64_t>((tokens - context - candidates) / per_item, 0, most_items);
  Repeat(&like.items, items);
  if (config.action_feature) Repeat(&like.actions, items);
  // Candidates are what is left, where there is a choice.
  const int64_t rest = tokens - context - items * per_item;
  Repeat(&like.candidates, std::clamp<int64_t>(rest, 1, config.max_num_candidates));
  return like;
}

}  // namespace

std::vector<const Request*> UsableRequests(const ModelConfig& config, std::span<const Request> like,
                                           bool disable_context) {
  std::vector<const Request*> usable;
  for (const Request& request : like) {
    const bool has_context =
        disable_context || request.contextual.size() >= config.contextual_features.size();
    const bool has_actions =
        !config.action_feature || request.actions.size() == request.items.size();
    if (!request.items.empty() && has_context && has_actions) usable.push_back(&request);
  }
  return usable;
}

std::vector<Request> WarmUpRequests(const ModelConfig& config, std::span<const Request> like,
                                    const StepSize& size, bool disable_context) {
  const std::vector<const Request*> usable = UsableRequests(config, like, disable_context);
  std::vector<Request> requests;
  if (usable.empty()) return requests;
  const auto context =
      disable_context ? 0 : static_cast<int64_t>(config.contextual_features.size());
  const int64_t others = size.sequences - 1;
  const int64_t share =
      others == 0 ? 0 : std::min(size.longest, (size.rows - size.longest) / others);
  for (int64_t i = 0; i < size.sequences; ++i) {
    const Request& source = *usable[static_cast<std::size_t>(i) % usable.size()];
    requests.push_back(Fill(config, source, i == 0 ? size.longest : share, context));
  }
  return requests;
}

}  // namespace hstu
