#include "kernels/in_linear_silu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/in_linear_silu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/gemm-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
struct BiasSilu {
  const float* bias;
  Activations out;

  template <class Lanes>
  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum, Lanes lanes) const {
    Store(Silu(hn::Add(sum, Load(bias + column, lanes))), out.RowAs<T>(row) + column, lanes);
  }
};

void InLinearSilu(const InLinearSiluArgs& args) {
  WithElement(args.out.dtype, [&](auto element) HWY_ATTR {
    Gemm(args.x, *args.weight, args.panel_begin, args.panel_end, args.scratch,
         BiasSilu<decltype(element)>{args.bias, args.out});
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(InLinearSilu);

InLinearSiluFn* InLinearSiluFor(Isa isa) { return HSTU_DISPATCH(InLinearSilu, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
