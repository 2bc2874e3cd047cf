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

void LayerNorm(const LayerNormArgs& args) {
  const FloatTag d;
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const float* x = args.x.Row(row);
    float* out = args.out.Row(row);
    const RowMoments moments = Moments(x, args.x.cols, args.epsilon);
    ForVectors(args.x.cols, [&](int64_t i, auto mask) HWY_ATTR {
      const Floats weight = hn::MaskedLoad(mask, d, args.weight + i);
      const Floats bias = hn::MaskedLoad(mask, d, args.bias + i);
      const Floats value = Normalize(hn::MaskedLoad(mask, d, x + i), moments, weight, bias);
      hn::BlendedStore(value, mask, d, out + i);
    });
  }
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
