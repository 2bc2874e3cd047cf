#include "kernels/pool_windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_windows.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
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
void PoolRows(const PoolWindowsArgs& args) {
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

void PoolWindows(const PoolWindowsArgs& args) {
  WithElement(args.out.dtype, [&](auto element) { PoolRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(PoolWindows);

PoolWindowsFn* PoolWindowsFor(Isa isa) { return HSTU_DISPATCH(PoolWindows, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
