// The fused code of operator in_linear_silu. Compiled once per target, and by artifacts
// (src/compile) with a model's sizes as constants.
#if defined(HSTU_KERNELS_IN_LINEAR_SILU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_IN_LINEAR_SILU_INL_H_
#undef HSTU_KERNELS_IN_LINEAR_SILU_INL_H_
#else
#define HSTU_KERNELS_IN_LINEAR_SILU_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/gemm-inl.h"
#include "kernels/in_linear_silu.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T, Products kProducts>
struct BiasSilu {
  const float* bias;
  Activations out;

  template <class Lanes>
  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum, Lanes lanes) const {
    const Floats value = hn::Add(sum, Load(bias + column, lanes));
    T* to = out.RowAs<T>(row) + column;
    if constexpr (kProducts == Products::kBF16Tiles) {
      StoreRounded(RoughSilu(value), to, lanes);
    } else {
      Store(Silu(value), to, lanes);
    }
  }
};

HWY_INLINE void InLinearSiluBody(const InLinearSiluArgs& args) {
  WithElement(args.out.dtype, [&](auto element) HWY_ATTR {
    using T = decltype(element);
    WithProducts<std::is_same_v<T, BF16>>(args.weight.products, [&](auto products) HWY_ATTR {
      constexpr Products kProducts = decltype(products)::value;
      GemmOf<kProducts>(args.x, args.weight, args.panel_begin, args.panel_end, args.scratch,
                        BiasSilu<T, kProducts>{args.bias, args.out});
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_IN_LINEAR_SILU_INL_H_
