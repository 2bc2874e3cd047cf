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

template <bool kResidual>
struct AddResidual {
  ConstMatrix residual;
  Matrix out;

  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum) const {
    const FloatTag d;
    if constexpr (kResidual) sum = hn::Add(sum, hn::LoadU(d, residual.Row(row) + column));
    hn::StoreU(sum, d, out.Row(row) + column);
  }
  HWY_INLINE void Partial(int64_t row, int64_t column, int64_t count, Floats sum) const {
    const FloatTag d;
    const auto mask = hn::FirstN(d, count);
    if constexpr (kResidual) {
      sum = hn::Add(sum, hn::MaskedLoad(mask, d, residual.Row(row) + column));
    }
    hn::BlendedStore(sum, mask, d, out.Row(row) + column);
  }
};

void LinearResidual(const LinearResidualArgs& args) {
  if (args.residual.data != nullptr) {
    Gemm(args.x, *args.weight, args.panel_begin, args.panel_end, args.scratch,
         AddResidual<true>{args.residual, args.out});
  } else {
    Gemm(args.x, *args.weight, args.panel_begin, args.panel_end, args.scratch,
         AddResidual<false>{args.residual, args.out});
  }
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
