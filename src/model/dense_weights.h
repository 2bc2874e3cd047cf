// The dense weights as kernels read them: packed one after the other into one block of memory, by
// this process at load, or once for all when a model is compiled.
#ifndef HSTU_MODEL_DENSE_WEIGHTS_H_
#define HSTU_MODEL_DENSE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/panel.h"
#include "model/model_part.h"
#include "model/weights.h"

namespace hstu {

struct LayerWeights {
  std::span<const float> input_norm_weight;   // [C]
  std::span<const float> input_norm_bias;     // [C]
  PackedView uvqk;                            // [4HD, C]
  std::span<const float> uvqk_bias;           // [4HD]
  std::span<const float> output_norm_weight;  // [HD]
  std::span<const float> output_norm_bias;    // [HD]
  PackedView proj;                            // [C, HD]
};

struct HeadLayer {
  PackedView weight;            // [out, in]
  std::span<const float> bias;  // [out]; zeros where the head has none
};

// Views into a block; they own nothing.
struct DenseWeights {
  std::vector<LayerWeights> layers;
  std::vector<HeadLayer> head;
};

// Of the block. `part`: of the layers one rank's heads alone. `products`: of the layers; the head
// works in f32.
std::int64_t DenseWeightBytes(const ModelFiles& files, const ModelPart& part = {},
                              Products products = Products::kF32);

// Fills a block of DenseWeightBytes, aligned as kernels' memory is.
void PackDenseWeights(const ModelFiles& files, const ModelPart& part, Products products,
                      std::byte* block);

// What lies where in a block that was filled from files of this config and these dtypes.
DenseWeights ViewDenseWeights(const ModelFiles& files, const ModelPart& part, Products products,
                              const std::byte* block);

}  // namespace hstu

#endif  // HSTU_MODEL_DENSE_WEIGHTS_H_
