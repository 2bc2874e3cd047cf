// Requests that fill a bucket, made of real ones.
#ifndef HSTU_ENGINE_WARM_UP_H_
#define HSTU_ENGINE_WARM_UP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

// What a step of a bucket holds.
struct StepSize {
  int64_t longest = 0;    // tokens of the first sequence
  int64_t sequences = 0;  // in all
  int64_t rows = 0;       // tokens in all, at most
};

// Those of `like` that others can be made of: with items, an action an item where the model has
// actions, and what the model's context needs.
std::vector<const Request*> UsableRequests(const ModelConfig& config, std::span<const Request> like,
                                           bool disable_context);

// `size.sequences` requests of nobody in particular, whose histories and candidates are those of
// `like`, repeated or cut: the first as long as the size says, the others share what is left. Empty
// where none of `like` is usable.
std::vector<Request> WarmUpRequests(const ModelConfig& config, std::span<const Request> like,
                                    const StepSize& size, bool disable_context);

}  // namespace hstu

#endif  // HSTU_ENGINE_WARM_UP_H_
