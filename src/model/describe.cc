#include "model/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/fingerprint.h"

namespace hstu {
namespace {

using nlohmann::ordered_json;

// The pairs of a history of n tokens, each with itself and the earlier ones that the window leaves.
std::int64_t VisiblePairs(const ModelConfig& config, std::int64_t n) {
  const std::int64_t window = config.max_attn_len;
  if (window == 0 || window >= n) return n * (n + 1) / 2;
  return window * (window + 1) / 2 + (n - window) * (window + 1);
}

ordered_json DescribeSizes(const ModelConfig& config) {
  ordered_json sizes = ToJson(config);
  for (const char* key : {"architecture", "item_feature", "action_feature", "contextual_features",
                          "embedding_tables"}) {
    sizes.erase(key);
  }
  return sizes;
}

ordered_json DescribeTables(const ModelFiles& model) {
  ordered_json tables = ordered_json::array();
  for (std::size_t i = 0; i < model.config().embedding_tables.size(); ++i) {
    const EmbeddingTable& table = model.config().embedding_tables[i];
    const WeightView& weight = model.weights()[i];  // ListTensors begins with the tables
    ordered_json entry{{"name", table.name},
                       {"features", table.features},
                       {"rows", table.num_embeddings},
                       {"dtype", NameOf(weight.dtype)},
                       {"bytes", weight.bytes().size()}};
    if (const auto& vocabulary = model.vocabularies()[i]) {
      entry["vocabulary"] = {{"file", table.vocabulary}, {"ids", vocabulary->ids().size()}};
      entry["oov_row"] = nullptr;
      if (table.oov_row) entry["oov_row"] = *table.oov_row;
    }
    tables.push_back(std::move(entry));
  }
  return tables;
}

struct Totals {
  std::int64_t table_elements = 0;
  std::int64_t table_bytes = 0;
  std::int64_t dense_elements = 0;
  std::int64_t dense_bytes = 0;
};

Totals SumUp(const ModelFiles& model) {
  Totals totals;
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const bool is_table = model.specs()[i].role == TensorRole::kTable;
    const WeightView& weight = model.weights()[i];
    (is_table ? totals.table_elements : totals.dense_elements) += weight.num_elements();
    (is_table ? totals.table_bytes : totals.dense_bytes) +=
        static_cast<std::int64_t>(weight.bytes().size());
  }
  return totals;
}

ordered_json DescribeMemory(const ModelFiles& model, const Totals& totals) {
  std::int64_t vocabulary_bytes = 0;
  for (const auto& vocabulary : model.vocabularies()) {
    if (vocabulary != nullptr) vocabulary_bytes += vocabulary->num_bytes();
  }
  const ModelConfig& config = model.config();
  const std::int64_t layer_bytes = 2 * config.attention_width() * 4;
  const StagePositions tokens = CompleteTokens(config.stages, config.max_history_tokens);
  std::int64_t user_bytes = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    user_bytes += config.stages[i].num_layers * layer_bytes * tokens[i];
  }
  return {{"mapped_table_bytes", totals.table_bytes},
          {"dense_bytes_in_file", totals.dense_bytes},
          {"vocabulary_bytes", vocabulary_bytes},
          {"kv_bytes_per_token_f32", user_bytes / config.max_history_tokens},
          {"kv_bytes_per_user_f32", user_bytes}};
}

}  // namespace

Flops CountFlops(const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.attention_width();
  Flops flops{};
  // [C] x [C, 4HD] and [HD] x [HD, C]; q.k and weight * v.
  flops.linear_per_token = config.num_layers * 2 * (hidden * 4 * width + width * hidden);
  flops.attention_per_pair = config.num_layers * 4 * width;
  std::int64_t in = hidden;
  for (const std::int64_t out : config.prediction_head_arch) {
    flops.head_per_candidate += 2 * in * out;
    in = out;
  }
  const std::int64_t layer_linear = flops.linear_per_token / config.num_layers;
  const std::int64_t layer_pair = flops.attention_per_pair / config.num_layers;
  const StagePositions tokens = CompleteTokens(config.stages, config.max_history_tokens);
  double total = 0.0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double pairs = static_cast<double>(VisiblePairs(config, tokens[i]));
    total += static_cast<double>(config.stages[i].num_layers) *
             (static_cast<double>(layer_linear * tokens[i]) + layer_pair * pairs);
  }
  flops.per_token_at_limit = static_cast<std::int64_t>(total / config.max_history_tokens);
  return flops;
}

ordered_json Describe(const ModelFiles& model) {
  const ModelConfig& config = model.config();
  const Totals totals = SumUp(model);
  const Flops flops = CountFlops(config);
  ordered_json features{{"item", config.item_feature},
                        {"action", nullptr},
                        {"contextual", config.contextual_features}};
  if (config.action_feature) features["action"] = *config.action_feature;
  return {{"model", model.folder()},
          {"architecture", "hstu_ranking"},
          {"sizes", DescribeSizes(config)},
          {"features", std::move(features)},
          {"tables", DescribeTables(model)},
          {"parameters",
           {{"dense", totals.dense_elements},
            {"tables", totals.table_elements},
            {"total", totals.dense_elements + totals.table_elements}}},
          {"memory", DescribeMemory(model, totals)},
          {"flops",
           {{"linear_per_token", flops.linear_per_token},
            {"attention_per_pair", flops.attention_per_pair},
            {"head_per_candidate", flops.head_per_candidate},
            {"per_token_at_max_history", flops.per_token_at_limit}}},
          {"fingerprint", Fingerprint(model)}};
}

}  // namespace hstu
