// Buckets from traffic: which lengths requests have.
#ifndef HSTU_COMPILE_TRAFFIC_H_
#define HSTU_COMPILE_TRAFFIC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

// The tokens that each request computes, in the order in which they come; with a KV cache those
// that no earlier request of the user had. Longer ones than `step_tokens` are computed in such
// parts.
std::vector<int64_t> ComputedTokens(const ModelConfig& config, std::span<const Request> requests,
                                    bool kv_cache, int64_t step_tokens);

// The lengths that half, 90 % and 99 % of them don't exceed, rounded up to powers of two; each
// once, ascending.
std::vector<int64_t> SeqLensOf(std::vector<int64_t> tokens);

}  // namespace hstu

#endif  // HSTU_COMPILE_TRAFFIC_H_
