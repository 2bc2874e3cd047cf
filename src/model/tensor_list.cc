#include "model/tensor_list.h"

#include <fmt/format.h>

#include <utility>

namespace hstu {

std::int64_t TensorSpec::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::vector<TensorSpec> ListTensors(const ModelConfig& config) {
  std::vector<TensorSpec> list;
  const auto add = [&](std::string name, std::vector<std::int64_t> shape, TensorRole role) {
    list.push_back({std::move(name), std::move(shape), role});
  };
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t width = config.attention_width();
  for (const EmbeddingTable& table : config.embedding_tables) {
    add(fmt::format("embedding.{}.weight", table.name), {table.num_embeddings, hidden},
        TensorRole::kTable);
  }
  add("position.weight", {config.num_position_buckets, hidden}, TensorRole::kPosition);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    add(layer + "input_norm.weight", {hidden}, TensorRole::kNormWeight);
    add(layer + "input_norm.bias", {hidden}, TensorRole::kNormBias);
    add(layer + "uvqk.weight", {4 * width, hidden}, TensorRole::kMatrix);
    add(layer + "uvqk.bias", {4 * width}, TensorRole::kBias);
    add(layer + "output_norm.weight", {width}, TensorRole::kNormWeight);
    add(layer + "output_norm.bias", {width}, TensorRole::kNormBias);
    add(layer + "proj.weight", {hidden, width}, TensorRole::kMatrix);
  }
  std::int64_t in = hidden;
  for (std::size_t j = 0; j < config.prediction_head_arch.size(); ++j) {
    const std::int64_t out = config.prediction_head_arch[j];
    add(fmt::format("head.{}.weight", j), {out, in}, TensorRole::kMatrix);
    if (config.prediction_head_bias) add(fmt::format("head.{}.bias", j), {out}, TensorRole::kBias);
    in = out;
  }
  return list;
}

}  // namespace hstu
