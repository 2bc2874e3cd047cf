#include "model/dense_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned.h"

namespace hstu {
namespace {

constexpr std::int64_t kUvqkParts = 4;

// Goes through a block in a fixed order. Without `fill` it only says what lies where; without a
// block it only counts.
class Placer {
 public:
  Placer(const ModelFiles& files, const ModelPart& part, Products products, const std::byte* block,
         std::byte* fill)
      : files_(files), part_(part), products_(products), block_(block), fill_(fill) {}

  std::int64_t used() const { return used_; }

  std::span<const float> Vector(const std::string& name) {
    const WeightView& weight = *files_.Find(name);
    return Vector(weight.data, weight.dtype, weight.num_elements());
  }

  std::span<const float> Zeros(std::size_t size) {
    const std::int64_t at = Take(size * sizeof(float));
    if (fill_ != nullptr) std::memset(fill_ + at, 0, size * sizeof(float));
    return Floats(at, size);
  }

  PackedView Matrix(const std::string& name, Products products) {
    const WeightView& weight = *files_.Find(name);
    return Matrix(weight.data, weight.dtype, weight.shape[0], weight.shape[1], products);
  }

  // The same of tensors that have the heads of all ranks, `parts` times HD elements.
  std::span<const float> HeadsVector(const std::string& name, std::int64_t parts) {
    if (part_.head_ranks == 1) return Vector(name);
    const WeightView& weight = *files_.Find(name);
    const std::vector<std::byte> own = OwnHeads(weight, parts, 1);
    return Vector(own.data(), weight.dtype, weight.num_elements() / part_.head_ranks);
  }
  // Rows [parts, HD] of a matrix.
  PackedView HeadsRows(const std::string& name, std::int64_t parts) {
    if (part_.head_ranks == 1) return Matrix(name, products_);
    const WeightView& weight = *files_.Find(name);
    const std::vector<std::byte> own = OwnHeads(weight, parts, weight.shape[1]);
    return Matrix(own.data(), weight.dtype, weight.shape[0] / part_.head_ranks, weight.shape[1],
                  products_);
  }
  // Columns [HD] of a matrix.
  PackedView HeadsColumns(const std::string& name) {
    if (part_.head_ranks == 1) return Matrix(name, products_);
    const WeightView& weight = *files_.Find(name);
    const std::vector<std::byte> own = OwnHeads(weight, weight.shape[0], 1);
    return Matrix(own.data(), weight.dtype, weight.shape[0], weight.shape[1] / part_.head_ranks,
                  products_);
  }

 private:
  std::span<const float> Vector(const std::byte* data, DType dtype, std::int64_t elements) {
    const auto size = static_cast<std::size_t>(elements);
    const std::int64_t at = Take(size * sizeof(float));
    if (fill_ != nullptr) LoadFloats(dtype, data, size, reinterpret_cast<float*>(fill_ + at));
    return Floats(at, size);
  }

  PackedView Matrix(const std::byte* data, DType dtype, std::int64_t n, std::int64_t k,
                    Products products) {
    PackedView view = PackedShape(dtype, n, k, products);
    const std::int64_t at = Take(static_cast<std::size_t>(view.bytes()));
    if (fill_ != nullptr) PackWeight(data, dtype, view, fill_ + at);
    if (block_ != nullptr) view.data = block_ + at;
    return view;
  }

  // Of a tensor whose dimension is [parts, HD]: the elements of this rank's heads, where each
  // element is `inner` numbers. uvqk has four parts of rows, proj is C parts of columns.
  std::vector<std::byte> OwnHeads(const WeightView& weight, std::int64_t parts,
                                  std::int64_t inner) const {
    if (fill_ == nullptr) return {};
    const std::span<const std::byte> bytes = weight.bytes();
    const auto whole = static_cast<std::int64_t>(bytes.size()) / parts;
    const std::int64_t width = weight.num_elements() / parts / inner / part_.head_ranks;
    const std::int64_t own = width * inner * static_cast<std::int64_t>(SizeOf(weight.dtype));
    std::vector<std::byte> kept;
    for (std::int64_t i = 0; i < parts; ++i) {
      const auto from = bytes.begin() + i * whole + part_.head_rank * own;
      kept.insert(kept.end(), from, from + own);
    }
    return kept;
  }

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
  const ModelPart& part_;
  const Products products_;  // of the layers
  const std::byte* const block_;
  std::byte* const fill_;
  std::int64_t used_ = 0;
};

LayerWeights PlaceLayer(std::int64_t index, Placer* place) {
  const auto name = [&](const char* part) { return fmt::format("layers.{}.{}", index, part); };
  LayerWeights layer;
  layer.input_norm_weight = place->Vector(name("input_norm.weight"));
  layer.input_norm_bias = place->Vector(name("input_norm.bias"));
  layer.uvqk = place->HeadsRows(name("uvqk.weight"), kUvqkParts);
  layer.uvqk_bias = place->HeadsVector(name("uvqk.bias"), kUvqkParts);
  layer.output_norm_weight = place->HeadsVector(name("output_norm.weight"), 1);
  layer.output_norm_bias = place->HeadsVector(name("output_norm.bias"), 1);
  layer.proj = place->HeadsColumns(name("proj.weight"));
  return layer;
}

HeadLayer PlaceHeadLayer(const ModelConfig& config, std::size_t index, Placer* place) {
  HeadLayer layer;
  layer.weight = place->Matrix(fmt::format("head.{}.weight", index), Products::kF32);
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

std::int64_t DenseWeightBytes(const ModelFiles& files, const ModelPart& part, Products products) {
  Placer place(files, part, products, nullptr, nullptr);
  Place(files, &place);
  return place.used();
}

void PackDenseWeights(const ModelFiles& files, const ModelPart& part, Products products,
                      std::byte* block) {
  Placer place(files, part, products, block, block);
  Place(files, &place);
}

DenseWeights ViewDenseWeights(const ModelFiles& files, const ModelPart& part, Products products,
                              const std::byte* block) {
  Placer place(files, part, products, block, nullptr);
  return Place(files, &place);
}

}  // namespace hstu
