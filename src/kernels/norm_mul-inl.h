// The fused code of operator norm_mul. Compiled once per target, and by artifacts (src/compile)
// with a model's sizes as constants.
#if defined(HSTU_KERNELS_NORM_MUL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_NORM_MUL_INL_H_
#undef HSTU_KERNELS_NORM_MUL_INL_H_
#else
#define HSTU_KERNELS_NORM_MUL_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/norm-inl.h"
#include "kernels/norm_mul.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void NormMulRows(const NormMulArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const T* x = args.x.RowAs<T>(row);
    T* out = args.out.RowAs<T>(row);
    const T* gate = args.gate.RowAs<T>(row);
    const RowMoments moments = Moments(x, args.x.cols, args.epsilon);
    ForVectors(args.x.cols, [&](int64_t i, auto lanes) HWY_ATTR {
      const Floats weight = Load(args.weight + i, lanes);
      const Floats bias = Load(args.bias + i, lanes);
      const Floats value = Normalize(Load(x + i, lanes), moments, weight, bias);
      Store(hn::Mul(value, Load(gate + i, lanes)), out + i, lanes);
    });
  }
}

HWY_INLINE void NormMulBody(const NormMulArgs& args) {
  WithElement(args.x.dtype, [&](auto element) HWY_ATTR { NormMulRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_NORM_MUL_INL_H_
