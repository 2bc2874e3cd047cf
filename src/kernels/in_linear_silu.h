// Operator in_linear_silu: the layer's first projection with its bias and SiLU in one pass.
#ifndef HSTU_KERNELS_IN_LINEAR_SILU_H_
#define HSTU_KERNELS_IN_LINEAR_SILU_H_

#include <cstdint>

#include "base/cpu.h"
#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// out = silu(x * weight^T + bias), of the columns [panel_begin * 16, panel_end * 16) only. U, V, Q
// and K are views of `out`. Zhai et al., "Actions Speak Louder than Words", 2024, equation 1.
// With a weight that is packed for products of bf16 x is rounded to bf16, and out is bf16.
struct InLinearSiluArgs {
  ConstActivations x;  // [m, C]
  PackedView weight;   // [4HD, C]
  const float* bias;   // [4HD]
  Activations out;     // [m, 4HD]
  int64_t panel_begin;
  int64_t panel_end;
  float* scratch;  // GemmScratch(C) floats
};

using InLinearSiluFn = void(const InLinearSiluArgs&);
InLinearSiluFn* InLinearSiluFor(Isa isa);
// The scalar reference: sums in double.
void InLinearSiluPlain(const InLinearSiluArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_IN_LINEAR_SILU_H_
