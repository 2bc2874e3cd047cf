// For tests: configs of small models.
#ifndef HSTU_COMPILE_TESTING_H_
#define HSTU_COMPILE_TESTING_H_

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace hstu {

inline ModelConfig SmallConfig(const std::vector<Stage>& stages) {
  ModelConfig config;
  config.hidden_size = 32;
  config.num_attention_heads = 2;
  config.kv_channels = 16;
  config.layernorm_epsilon = 1e-5f;
  config.max_history_tokens = 256;
  config.max_num_candidates = 16;
  config.num_position_buckets = 256;
  config.item_feature = "item";
  config.embedding_tables = {{"items", 100, {"item"}, "", {}}};
  config.prediction_head_arch = {32, 8};
  config.stages = stages;
  for (const Stage& stage : stages) config.num_layers += stage.num_layers;
  return config;
}

}  // namespace hstu

#endif  // HSTU_COMPILE_TESTING_H_
