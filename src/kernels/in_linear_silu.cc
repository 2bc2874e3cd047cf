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

struct BiasSilu {
  const float* bias;
  Matrix out;

  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum) const {
    const FloatTag d;
    hn::StoreU(Silu(hn::Add(sum, hn::LoadU(d, bias + column))), d, out.Row(row) + column);
  }
  HWY_INLINE void Partial(int64_t row, int64_t column, int64_t count, Floats sum) const {
    const FloatTag d;
    const auto mask = hn::FirstN(d, count);
    const Floats value = Silu(hn::Add(sum, hn::MaskedLoad(mask, d, bias + column)));
    hn::BlendedStore(value, mask, d, out.Row(row) + column);
  }
};

void InLinearSilu(const InLinearSiluArgs& args) {
  Gemm(args.x, *args.weight, args.panel_begin, args.panel_end, args.scratch,
       BiasSilu{args.bias, args.out});
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
