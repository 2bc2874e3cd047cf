// Operator linear: a layer of the prediction head.
#ifndef HSTU_KERNELS_LINEAR_H_
#define HSTU_KERNELS_LINEAR_H_

#include "base/cpu.h"
#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// out = x * weight^T + bias, then max(0, .) if `relu`.
struct LinearArgs {
  ConstMatrix x;      // [m, in]
  PackedView weight;  // [out, in]
  const float* bias;  // [out]; zeros where the head has none
  bool relu;
  Matrix out;      // [m, out]
  float* scratch;  // GemmScratch(in) floats
};

using LinearFn = void(const LinearArgs&);
LinearFn* LinearFor(Isa isa);
// The scalar reference: sums in double.
void LinearPlain(const LinearArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_LINEAR_H_
