// Operator layer_norm: a row's bits depend on its values alone.
#ifndef HSTU_KERNELS_LAYER_NORM_H_
#define HSTU_KERNELS_LAYER_NORM_H_

#include "base/cpu.h"
#include "tensor/view.h"

namespace hstu {

// out = (x - mean) / sqrt(variance + epsilon) * weight + bias, by rows; the population variance.
struct LayerNormArgs {
  ConstActivations x;   // [m, C]
  const float* weight;  // [C]
  const float* bias;    // [C]
  float epsilon;
  Matrix out;  // [m, C]; may be x where that is f32
};

using LayerNormFn = void(const LayerNormArgs&);
LayerNormFn* LayerNormFor(Isa isa);
// The scalar reference: in double.
void LayerNormPlain(const LayerNormArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_LAYER_NORM_H_
