#include "accept/random_requests.h"

#include <algorithm>

#include "engine/warm_up.h"

namespace hstu {

RandomRequests::RandomRequests(const ModelConfig& config, std::span<const Request> like,
                               uint32_t seed)
    : config_(config),
      context_(static_cast<int64_t>(config.contextual_features.size())),
      usable_(UsableRequests(config, like, false)),
      random_(seed) {}

int64_t RandomRequests::Number(int64_t least, int64_t most) {
  const auto range = static_cast<uint64_t>(std::max<int64_t>(0, most - least)) + 1;
  return least + static_cast<int64_t>(random_() % range);
}

Request RandomRequests::Draw(int64_t items, int64_t candidates) {
  const auto any = [this] {
    return usable_[static_cast<size_t>(Number(0, static_cast<int64_t>(usable_.size()) - 1))];
  };
  Request request;
  request.contextual = any()->contextual;
  for (int64_t i = 0; i < items + candidates; ++i) {
    const Request& source = *any();
    const auto at = static_cast<size_t>(Number(0, static_cast<int64_t>(source.items.size()) - 1));
    if (i >= items) {
      request.candidates.push_back(source.items[at]);
      continue;
    }
    request.items.push_back(source.items[at]);
    if (config_.action_feature) request.actions.push_back(source.actions[at]);
  }
  return request;
}

Request RandomRequests::OfTokens(int64_t tokens) {
  const int64_t per_item = config_.tokens_per_item();
  const int64_t most_items = (config_.max_history_tokens - context_) / per_item;
  const int64_t wanted =
      Number(1, std::min(config_.max_num_candidates, std::max<int64_t>(1, tokens / 4)));
  const int64_t items = std::clamp<int64_t>((tokens - context_ - wanted) / per_item, 0, most_items);
  const int64_t rest = tokens - context_ - items * per_item;
  return Draw(items, std::clamp<int64_t>(rest, 1, config_.max_num_candidates));
}

int64_t RandomRequests::TokensOf(const Request& request) const {
  return context_ + static_cast<int64_t>(request.items.size()) * config_.tokens_per_item() +
         static_cast<int64_t>(request.candidates.size());
}

}  // namespace hstu
