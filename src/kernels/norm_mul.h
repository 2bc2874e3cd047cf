// Operator norm_mul: LayerNorm of the attention's output times the gate U, in one pass.
#ifndef HSTU_KERNELS_NORM_MUL_H_
#define HSTU_KERNELS_NORM_MUL_H_

#include "base/cpu.h"
#include "tensor/view.h"

namespace hstu {

// out = layer_norm(x) * gate, element by element; all three of one type.
struct NormMulArgs {
  ConstActivations x;     // [m, HD]
  ConstActivations gate;  // [m, HD]
  const float* weight;    // [HD]
  const float* bias;      // [HD]
  float epsilon;
  Activations out;  // [m, HD]; may be x or gate
};

using NormMulFn = void(const NormMulArgs&);
NormMulFn* NormMulFor(Isa isa);
// The scalar reference: in double.
void NormMulPlain(const NormMulArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_NORM_MUL_H_
