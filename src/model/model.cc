#include "model/model.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

std::vector<float> ReadVector(const ModelFiles& files, const std::string& name) {
  const WeightView& weight = *files.Find(name);
  std::vector<float> values(weight.num_elements());
  LoadFloats(weight.dtype, weight.data, values.size(), values.data());
  return values;
}

PackedMatrix PackMatrix(const ModelFiles& files, const std::string& name) {
  const WeightView& weight = *files.Find(name);
  return PackedMatrix(weight.data, weight.dtype, weight.shape[0], weight.shape[1]);
}

LayerWeights ReadLayer(const ModelFiles& files, std::int64_t index) {
  const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", index, part); };
  return {
      ReadVector(files, name("input_norm.weight")),  ReadVector(files, name("input_norm.bias")),
      PackMatrix(files, name("uvqk.weight")),        ReadVector(files, name("uvqk.bias")),
      ReadVector(files, name("output_norm.weight")), ReadVector(files, name("output_norm.bias")),
      PackMatrix(files, name("proj.weight"))};
}

HeadLayer ReadHeadLayer(const ModelFiles& files, std::size_t index) {
  const ModelConfig& config = files.config();
  HeadLayer layer;
  layer.weight = PackMatrix(files, fmt::format("head.{}.weight", index));
  if (config.prediction_head_bias) {
    layer.bias = ReadVector(files, fmt::format("head.{}.bias", index));
  } else {
    layer.bias.assign(config.prediction_head_arch[index], 0.0f);
  }
  return layer;
}

RowTable TableOf(const WeightView& weight) { return {weight.data, weight.dtype}; }

}  // namespace

Result<Model> Model::Load(const std::string& folder) {
  HSTU_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Load(folder));
  return Model(std::move(files));
}

Model::Model(ModelFiles files) : files_(std::move(files)) {
  for (std::int64_t i = 0; i < config().num_layers; ++i) layers_.push_back(ReadLayer(files_, i));
  for (std::size_t i = 0; i < config().prediction_head_arch.size(); ++i) {
    head_.push_back(ReadHeadLayer(files_, i));
  }
  item_table_ = TableOf(files_.item().weight);
  if (files_.action() != nullptr) action_table_ = TableOf(files_.action()->weight);
  for (const FeatureTable* feature : files_.contextual()) {
    contextual_tables_.push_back(TableOf(feature->weight));
  }
  position_table_ = TableOf(*files_.Find("position.weight"));
}

std::int64_t Model::packed_bytes() const {
  std::int64_t bytes = 0;
  const auto add = [&](const std::vector<float>& values) {
    bytes += static_cast<std::int64_t>(values.size() * sizeof(float));
  };
  for (const LayerWeights& layer : layers_) {
    add(layer.input_norm_weight);
    add(layer.input_norm_bias);
    add(layer.uvqk_bias);
    add(layer.output_norm_weight);
    add(layer.output_norm_bias);
    bytes += layer.uvqk.bytes() + layer.proj.bytes();
  }
  for (const HeadLayer& layer : head_) {
    add(layer.bias);
    bytes += layer.weight.bytes();
  }
  return bytes;
}

}  // namespace hstu
