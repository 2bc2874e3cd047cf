// Operator l2_norm: what the prediction head sees.
#ifndef HSTU_KERNELS_L2_NORM_H_
#define HSTU_KERNELS_L2_NORM_H_

#include "base/cpu.h"
#include "tensor/view.h"

namespace hstu {

// out = x / max(|x|, 1e-6), by rows.
struct L2NormArgs {
  ConstActivations x;  // [m, C]
  Matrix out;          // [m, C]; may be x where that is f32
};

using L2NormFn = void(const L2NormArgs&);
L2NormFn* L2NormFor(Isa isa);
// The scalar reference: in double.
void L2NormPlain(const L2NormArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_L2_NORM_H_
