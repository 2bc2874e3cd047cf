#include "kernels/norm_mul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm_mul.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
void NormMulRows(const NormMulArgs& args) {
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

void NormMul(const NormMulArgs& args) {
  WithElement(args.x.dtype, [&](auto element) { NormMulRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(NormMul);

NormMulFn* NormMulFor(Isa isa) { return HSTU_DISPATCH(NormMul, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
