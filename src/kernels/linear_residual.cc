#include "kernels/linear_residual.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_residual.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T, bool kResidual>
struct AddResidual {
  ConstActivations residual;
  Activations out;

  template <class Lanes>
  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum, Lanes lanes) const {
    if constexpr (kResidual) sum = hn::Add(sum, Load(residual.RowAs<T>(row) + column, lanes));
    Store(sum, out.RowAs<T>(row) + column, lanes);
  }
};

template <class T, bool kResidual>
void LinearResidualAs(const LinearResidualArgs& args) {
  Gemm(args.x, *args.weight, args.panel_begin, args.panel_end, args.scratch,
       AddResidual<T, kResidual>{args.residual, args.out});
}

void LinearResidual(const LinearResidualArgs& args) {
  WithElement(args.out.dtype, [&](auto element) {
    if (args.residual.data != nullptr) {
      LinearResidualAs<decltype(element), true>(args);
    } else {
      LinearResidualAs<decltype(element), false>(args);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(LinearResidual);

LinearResidualFn* LinearResidualFor(Isa isa) { return HSTU_DISPATCH(LinearResidual, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
