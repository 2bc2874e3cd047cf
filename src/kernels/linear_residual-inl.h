// The fused code of operator linear_residual. Compiled once per target, and by artifacts
// (src/compile) with a model's sizes as constants.
#if defined(HSTU_KERNELS_LINEAR_RESIDUAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_LINEAR_RESIDUAL_INL_H_
#undef HSTU_KERNELS_LINEAR_RESIDUAL_INL_H_
#else
#define HSTU_KERNELS_LINEAR_RESIDUAL_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/gemm-inl.h"
#include "kernels/linear_residual.h"

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
HWY_INLINE void LinearResidualAs(const LinearResidualArgs& args) {
  // Ranks that share the heads sum parts in f32, without a residual.
  constexpr bool kMayBeBF16 = std::is_same_v<T, BF16> || !kResidual;
  Gemm<kMayBeBF16>(args.x, args.weight, args.panel_begin, args.panel_end, args.scratch,
                   AddResidual<T, kResidual>{args.residual, args.out});
}

HWY_INLINE void LinearResidualBody(const LinearResidualArgs& args) {
  WithElement(args.out.dtype, [&](auto element) HWY_ATTR {
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

#endif  // HSTU_KERNELS_LINEAR_RESIDUAL_INL_H_
