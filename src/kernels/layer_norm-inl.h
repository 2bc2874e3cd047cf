// The fused code of operator layer_norm. Compiled once per target, and by artifacts (src/compile)
// with a model's sizes as constants.
#if defined(HSTU_KERNELS_LAYER_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_LAYER_NORM_INL_H_
#undef HSTU_KERNELS_LAYER_NORM_INL_H_
#else
#define HSTU_KERNELS_LAYER_NORM_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/layer_norm.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void LayerNormRows(const LayerNormArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const T* x = args.x.RowAs<T>(row);
    float* out = args.out.Row(row);
    const RowMoments moments = Moments(x, args.x.cols, args.epsilon);
    ForVectors(args.x.cols, [&](int64_t i, auto lanes) HWY_ATTR {
      const Floats weight = Load(args.weight + i, lanes);
      const Floats bias = Load(args.bias + i, lanes);
      Store(Normalize(Load(x + i, lanes), moments, weight, bias), out + i, lanes);
    });
  }
}

HWY_INLINE void LayerNormBody(const LayerNormArgs& args) {
  WithElement(args.x.dtype, [&](auto element) HWY_ATTR { LayerNormRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_LAYER_NORM_INL_H_
