#include "compile/traffic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace hstu {

std::vector<int64_t> ComputedTokens(const ModelConfig& config, std::span<const Request> requests,
                                    bool kv_cache, int64_t step_tokens) {
  const auto context = static_cast<int64_t>(config.contextual_features.size());
  std::unordered_map<std::string, int64_t> known;  // items of a user
  std::vector<int64_t> tokens;
  for (const Request& request : requests) {
    int64_t* before = nullptr;
    if (kv_cache && request.user_id) before = &known[*request.user_id];
    const int64_t begin = request.history_start.value_or(0);
    const int64_t end = begin + static_cast<int64_t>(request.items.size());
    const int64_t first = before == nullptr ? begin : std::max(begin, *before);
    int64_t computed = std::max<int64_t>(0, end - first) * config.tokens_per_item();
    if (first == 0) computed += context;
    computed = std::min(computed, config.max_history_tokens);
    computed += static_cast<int64_t>(request.candidates.size());
    tokens.push_back(std::min(computed, step_tokens));
    if (before != nullptr) *before = std::max(*before, end);
  }
  return tokens;
}

std::vector<int64_t> SeqLensOf(std::vector<int64_t> tokens) {
  std::vector<int64_t> lengths;
  if (tokens.empty()) return lengths;
  std::sort(tokens.begin(), tokens.end());
  for (const double share : {0.5, 0.9, 0.99}) {
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(tokens.size())));
    const auto length = static_cast<uint64_t>(std::max<int64_t>(1, tokens[rank - 1]));
    lengths.push_back(static_cast<int64_t>(std::bit_ceil(length)));
  }
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

}  // namespace hstu
