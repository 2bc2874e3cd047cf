// config.json of a model folder: sizes, mask, features and tables of an HSTU ranking model.
#ifndef HSTU_MODEL_CONFIG_H_
#define HSTU_MODEL_CONFIG_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"
#include "kernels/attention_kind.h"
#include "kernels/stages.h"

namespace hstu {

struct EmbeddingTable {
  std::string name;
  std::int64_t num_embeddings = 0;
  std::vector<std::string> features;    // that look their ids up here
  std::string vocabulary;               // a file in the model folder; empty: ids are rows
  std::optional<std::int64_t> oov_row;  // the row of ids that the vocabulary lacks
};

// Members are named as the keys; docs/model-format.md describes them.
struct ModelConfig {
  std::int64_t hidden_size = 0;          // C
  std::int64_t num_layers = 0;           // L
  std::int64_t num_attention_heads = 0;  // H
  std::int64_t kv_channels = 0;          // D, of one head, for U, V, Q and K alike
  float layernorm_epsilon = 0;
  bool residual = true;
  AttentionKind attention = AttentionKind::kSilu;
  std::int64_t scaling_seqlen = 1;  // the divisor of silu attention
  std::int64_t max_history_tokens = 0;
  std::int64_t max_num_candidates = 0;
  std::int64_t max_attn_len = 0;  // 0: no window
  std::int64_t target_group_size = 1;
  bool contextual_mask = false;
  std::int64_t num_position_buckets = 0;
  std::string item_feature;
  std::optional<std::string> action_feature;
  std::vector<std::string> contextual_features;
  std::vector<EmbeddingTable> embedding_tables;
  std::vector<std::int64_t> prediction_head_arch;  // layer sizes, the last is the number of tasks
  bool prediction_head_bias = true;
  std::vector<std::string> task_names;           // empty, or one per task
  std::vector<std::string> embedding_operators;  // from libraries: see model/model_operators.h
  std::vector<std::string> head_operators;
  std::vector<Stage> stages;  // at least one; their layers are num_layers in all

  std::int64_t num_tasks() const { return prediction_head_arch.back(); }
  // The width of one of U, V, Q, K: H * D.
  std::int64_t attention_width() const { return num_attention_heads * kv_channels; }
  std::int64_t tokens_per_item() const { return action_feature ? 2 : 1; }
};

// Parses and checks config.json. Sizes of a parsed config multiply without overflow: any tensor of
// the model has fewer than 2^62 bytes. Errors (kBadModel) name `file_name`, key, value and limit.
Result<ModelConfig> ParseConfig(std::string_view text, std::string_view file_name);

// Every key, in one fixed form: parsing it gives the same config.
nlohmann::ordered_json ToJson(const ModelConfig& config);

}  // namespace hstu

#endif  // HSTU_MODEL_CONFIG_H_
