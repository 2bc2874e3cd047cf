#include "kernels/l2_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/l2_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
void L2NormRows(const L2NormArgs& args) {
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

void L2Norm(const L2NormArgs& args) {
  WithElement(args.x.dtype, [&](auto element) { L2NormRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(L2Norm);

L2NormFn* L2NormFor(Isa isa) { return HSTU_DISPATCH(L2Norm, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
