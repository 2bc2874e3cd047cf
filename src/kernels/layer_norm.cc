#include "kernels/layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
void LayerNormRows(const LayerNormArgs& args) {
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

void LayerNorm(const LayerNormArgs& args) {
  WithElement(args.x.dtype, [&](auto element) { LayerNormRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(LayerNorm);

LayerNormFn* LayerNormFor(Isa isa) { return HSTU_DISPATCH(LayerNorm, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
