#include "kernels/norm_mul_moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm_mul_moments.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
void NormMulMomentsAs(const NormMulMomentsArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const T* x = args.x.RowAs<T>(row);
    const T* gate = args.gate.RowAs<T>(row);
    T* out = args.out.RowAs<T>(row);
    const RowMoments moments{args.moments[2 * row], args.moments[2 * row + 1]};
    ForVectors(args.x.cols, [&](int64_t i, auto lanes) HWY_ATTR {
      const Floats value = Normalize(Load(x + i, lanes), moments, Load(args.weight + i, lanes),
                                     Load(args.bias + i, lanes));
      Store(hn::Mul(value, Load(gate + i, lanes)), out + i, lanes);
    });
  }
}

void NormMulMoments(const NormMulMomentsArgs& args) {
  WithElement(args.x.dtype, [&](auto element) { NormMulMomentsAs<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(NormMulMoments);

NormMulMomentsFn* NormMulMomentsFor(Isa isa) { return HSTU_DISPATCH(NormMulMoments, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
