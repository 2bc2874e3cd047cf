#include "model/dense_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/aligned.h"

namespace hstu {
namespace {

// Goes through a block in a fixed order. Without `fill` it only says what lies where; without a
// block it only counts.
class Placer {
 public:
  Placer(const ModelFiles& files, const std::byte* block, std::byte* fill)
      : files_(files), block_(block), fill_(fill) {}

  std::int64_t used() const { return used_; }

  std::span<const float> Vector(const std::string& name) {
    const WeightView& weight = *files_.Find(name);
    const auto size = static_cast<std::size_t>(weight.num_elements());
    const std::int64_t at = Take(size * sizeof(float));
    if (fill_ != nullptr) {
      LoadFloats(weight.dtype, weight.data, size, reinterpret_cast<float*>(fill_ + at));
    }
    return Floats(at, size);
  }

  std::span<const float> Zeros(std::size_t size) {
    const std::int64_t at = Take(size * sizeof(float));
    if (fill_ != nullptr) std::memset(fill_ + at, 0, size * sizeof(float));
    return Floats(at, size);
  }

  PackedView Matrix(const std::string& name) {
    const WeightView& weight = *files_.Find(name);
    PackedView view = PackedShape(weight.dtype, weight.shape[0], weight.shape[1]);
    const std::int64_t at = Take(static_cast<std::size_t>(view.bytes()));
    if (fill_ != nullptr) PackWeight(weight.data, weight.dtype, view.n, view.k, fill_ + at);
    if (block_ != nullptr) view.data = block_ + at;
    return view;
  }

 private:
  std::int64_t Take(std::size_t bytes) {
    const std::int64_t at = used_;
    used_ += RoundUp(static_cast<std::int64_t>(bytes), kAlignment);
    // What no weight has, so that the bytes of a block depend on the weights alone.
    if (fill_ != nullptr) std::memset(fill_ + at + bytes, 0, used_ - at - bytes);
    return at;
  }

  std::span<const float> Floats(std::int64_t at, std::size_t size) const {
    if (block_ == nullptr) return {};
    return {reinterpret_cast<const float*>(block_ + at), size};
  }

  const ModelFiles& files_;
  const std::byte* const block_;
  std::byte* const fill_;
  std::int64_t used_ = 0;
};

LayerWeights PlaceLayer(std::int64_t index, Placer* place) {
  const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", index, part); };
  LayerWeights layer;
  layer.input_norm_weight = place->Vector(name("input_norm.weight"));
  layer.input_norm_bias = place->Vector(name("input_norm.bias"));
  layer.uvqk = place->Matrix(name("uvqk.weight"));
  layer.uvqk_bias = place->Vector(name("uvqk.bias"));
  layer.output_norm_weight = place->Vector(name("output_norm.weight"));
  layer.output_norm_bias = place->Vector(name("output_norm.bias"));
  layer.proj = place->Matrix(name("proj.weight"));
  return layer;
}

HeadLayer PlaceHeadLayer(const ModelConfig& config, std::size_t index, Placer* place) {
  HeadLayer layer;
  layer.weight = place->Matrix(fmt::format("head.{}.weight", index));
  layer.bias = config.prediction_head_bias
                   ? place->Vector(fmt::format("head.{}.bias", index))
                   : place->Zeros(static_cast<std::size_t>(config.prediction_head_arch[index]));
  return layer;
}

DenseWeights Place(const ModelFiles& files, Placer* place) {
  DenseWeights weights;
  const ModelConfig& config = files.config();
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    weights.layers.push_back(PlaceLayer(i, place));
  }
  for (std::size_t i = 0; i < config.prediction_head_arch.size(); ++i) {
    weights.head.push_back(PlaceHeadLayer(config, i, place));
  }
  return weights;
}

}  // namespace

std::int64_t DenseWeightBytes(const ModelFiles& files) {
  Placer place(files, nullptr, nullptr);
  Place(files, &place);
  return place.used();
}

void PackDenseWeights(const ModelFiles& files, std::byte* block) {
  Placer place(files, block, block);
  Place(files, &place);
}

DenseWeights ViewDenseWeights(const ModelFiles& files, const std::byte* block) {
  Placer place(files, block, nullptr);
  return Place(files, &place);
}

}  // namespace hstu
