// What a model costs: parameters, memory and arithmetic, from its config and files.
#ifndef HSTU_MODEL_DESCRIBE_H_
#define HSTU_MODEL_DESCRIBE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "model/config.h"
#include "model/weights.h"

namespace hstu {

// Multiplications and additions, counted as two.
struct Flops {
  std::int64_t linear_per_token;    // UVQK and output projections of all layers
  std::int64_t attention_per_pair;  // of a token and one that it sees, all layers
  std::int64_t head_per_candidate;
  // Of one token on average in a history of max_history_tokens, all that the mask lets it see;
  // later stages have fewer tokens.
  std::int64_t per_token_at_limit;
};
Flops CountFlops(const ModelConfig& config);

// Keys: model, architecture, sizes, features, tables, parameters, memory, flops, fingerprint; see
// docs/model-format.md. Reads all weights but the tables', for the fingerprint.
nlohmann::ordered_json Describe(const ModelFiles& model);

}  // namespace hstu

#endif  // HSTU_MODEL_DESCRIBE_H_
