// Operator norm_mul_moments: norm_mul of some of a row's columns, whose moments are known.
#ifndef HSTU_KERNELS_NORM_MUL_MOMENTS_H_
#define HSTU_KERNELS_NORM_MUL_MOMENTS_H_

#include "base/cpu.h"
#include "tensor/view.h"

namespace hstu {

// out = ((x - mean) * inverse deviation * weight + bias) * gate; x, gate and out of one type.
struct NormMulMomentsArgs {
  ConstActivations x;     // [m, n]
  ConstActivations gate;  // [m, n]
  const float* weight;    // [n]
  const float* bias;      // [n]
  const float* moments;   // [m, 2]: mean and inverse deviation, see JoinRowMoments
  Activations out;        // [m, n]; may be x or gate
};

using NormMulMomentsFn = void(const NormMulMomentsArgs&);
NormMulMomentsFn* NormMulMomentsFor(Isa isa);
// The scalar reference: in double.
void NormMulMomentsPlain(const NormMulMomentsArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_NORM_MUL_MOMENTS_H_
