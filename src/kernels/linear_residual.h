// Operator linear_residual: the layer's output projection and its residual in one pass.
#ifndef HSTU_KERNELS_LINEAR_RESIDUAL_H_
#define HSTU_KERNELS_LINEAR_RESIDUAL_H_

#include <cstdint>

#include "base/cpu.h"
#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// out = x * weight^T + residual (x rounded to bf16 where the weight is packed for pairs), of the
// columns [panel_begin * 16, panel_end * 16) only. `residual` may be `out` itself; without data it
// is left away.
struct LinearResidualArgs {
  ConstActivations x;         // [m, HD]
  PackedView weight;          // [C, HD]
  ConstActivations residual;  // [m, C] or empty, of out's type
  Activations out;            // [m, C]
  int64_t panel_begin;
  int64_t panel_end;
  float* scratch;  // GemmScratch(HD) floats
};

using LinearResidualFn = void(const LinearResidualArgs&);
LinearResidualFn* LinearResidualFor(Isa isa);
// The scalar reference: sums in double.
void LinearResidualPlain(const LinearResidualArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_LINEAR_RESIDUAL_H_
