// The fused code of operator linear. Compiled once per target, and by artifacts (src/compile) with
// a model's sizes as constants.
#if defined(HSTU_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_LINEAR_INL_H_
#undef HSTU_KERNELS_LINEAR_INL_H_
#else
#define HSTU_KERNELS_LINEAR_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/gemm-inl.h"
#include "kernels/linear.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

struct BiasRelu {
  const float* bias;
  float floor;  // 0 or -infinity
  Matrix out;

  template <class Lanes>
  HWY_INLINE void operator()(int64_t row, int64_t column, Floats sum, Lanes lanes) const {
    const Floats value = hn::Add(sum, Load(bias + column, lanes));
    Store(hn::Max(value, hn::Set(FloatTag(), floor)), out.Row(row) + column, lanes);
  }
};

HWY_INLINE void LinearBody(const LinearArgs& args) {
  const float floor = args.relu ? 0.0f : -__builtin_inff();
  Gemm(args.x, args.weight, 0, args.weight.panels(), args.scratch,
       BiasRelu{args.bias, floor, args.out});
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_LINEAR_INL_H_
