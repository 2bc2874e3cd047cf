// The fused code of operator l2_norm. Compiled once per target, and by artifacts (src/compile) with
// a model's sizes as constants.
#if defined(HSTU_KERNELS_L2_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_L2_NORM_INL_H_
#undef HSTU_KERNELS_L2_NORM_INL_H_
#else
#define HSTU_KERNELS_L2_NORM_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/l2_norm.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void L2NormRows(const L2NormArgs& args) {
  const FloatTag d;
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const T* x = args.x.RowAs<T>(row);
    float* out = args.out.Row(row);
    const float squares = RowSum(x, args.x.cols, [](Floats v) HWY_ATTR { return hn::Mul(v, v); });
    const Floats norm = hn::Set(d, std::fmax(std::sqrt(squares), 1e-6f));
    ForVectors(args.x.cols, [&](int64_t i, auto lanes) HWY_ATTR {
      Store(hn::Div(Load(x + i, lanes), norm), out + i, lanes);
    });
  }
}

HWY_INLINE void L2NormBody(const L2NormArgs& args) {
  WithElement(args.x.dtype, [&](auto element) HWY_ATTR { L2NormRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_L2_NORM_INL_H_
