// Requests of given sizes whose ids are drawn from real requests.
#ifndef HSTU_ACCEPT_RANDOM_REQUESTS_H_
#define HSTU_ACCEPT_RANDOM_REQUESTS_H_

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

class RandomRequests {
 public:
  // Takes ids, actions and contextual features from `like`, of which one at least must be usable
  // (see engine/warm_up.h). Config and requests must outlive it.
  RandomRequests(const ModelConfig& config, std::span<const Request> like, uint32_t seed);

  // `tokens` in all, history and candidates, or as near as limits allow.
  Request OfTokens(int64_t tokens);
  // A history of `items`, `candidates` candidates.
  Request Draw(int64_t items, int64_t candidates);
  // In [least, most].
  int64_t Number(int64_t least, int64_t most);

  // Tokens of the request, contextual ones included.
  int64_t TokensOf(const Request& request) const;

 private:
  const ModelConfig& config_;
  const int64_t context_;
  const std::vector<const Request*> usable_;
  std::mt19937 random_;
};

}  // namespace hstu

#endif  // HSTU_ACCEPT_RANDOM_REQUESTS_H_
