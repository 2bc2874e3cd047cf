// The fused code of operator pool_windows. Compiled once per target, and by artifacts (src/compile)
// with a model's sizes as constants.
#if defined(HSTU_KERNELS_POOL_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_POOL_WINDOWS_INL_H_
#undef HSTU_KERNELS_POOL_WINDOWS_INL_H_
#else
#define HSTU_KERNELS_POOL_WINDOWS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/pool_windows.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// Channels [i, i + kLanes) of input `row`.
template <class T, class Lanes>
HWY_INLINE Floats Input(const PoolWindowsArgs& args, int64_t row, int64_t i, Lanes lanes) {
  if (row < args.waiting.rows) return Load(args.waiting.Row(row) + i, lanes);
  return Load(args.x.RowAs<T>(row - args.waiting.rows) + i, lanes);
}

template <class T>
HWY_INLINE void PoolRows(const PoolWindowsArgs& args) {
  const auto window = args.aggregation.window;
  const Floats divisor = hn::Set(FloatTag(), static_cast<float>(window));
  for (int64_t row = 0; row < args.out.rows; ++row) {
    const int64_t begin = args.first + row * args.aggregation.stride;
    T* out = args.out.RowAs<T>(row);
    ForVectors(args.out.cols, [&](int64_t i, auto lanes) HWY_ATTR {
      Floats sum = Input<T>(args, begin, i, lanes);
      for (int64_t j = 1; j < window; ++j) sum = hn::Add(sum, Input<T>(args, begin + j, i, lanes));
      Store(hn::Div(sum, divisor), out + i, lanes);
    });
  }
}

HWY_INLINE void PoolWindowsBody(const PoolWindowsArgs& args) {
  WithElement(args.out.dtype, [&](auto element) HWY_ATTR { PoolRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_POOL_WINDOWS_INL_H_
