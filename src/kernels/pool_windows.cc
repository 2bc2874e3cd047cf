#include "kernels/pool_windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_windows.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// out = term(out, x), by vectors.
template <class Term>
HWY_INLINE void Accumulate(const float* HWY_RESTRICT x, int64_t size, float* HWY_RESTRICT out,
                           const Term& term) {
  const FloatTag d;
  ForVectors(size, [&](int64_t i, auto mask) HWY_ATTR {
    const Floats sum = term(hn::MaskedLoad(mask, d, out + i), hn::MaskedLoad(mask, d, x + i));
    hn::BlendedStore(sum, mask, d, out + i);
  });
}

void PoolWindows(const PoolWindowsArgs& args) {
  const FloatTag d;
  const auto [window, stride] = args.aggregation;
  const auto input = [&](int64_t i) {
    return i < args.waiting.rows ? args.waiting.Row(i) : args.x.Row(i - args.waiting.rows);
  };
  const Floats divisor = hn::Set(d, static_cast<float>(window));
  for (int64_t row = 0; row < args.out.rows; ++row) {
    const int64_t begin = args.first + row * stride;
    float* out = args.out.Row(row);
    Accumulate(input(begin), args.out.cols, out, [](Floats, Floats v) HWY_ATTR { return v; });
    for (int64_t i = 1; i + 1 < window; ++i) {
      Accumulate(input(begin + i), args.out.cols, out,
                 [](Floats sum, Floats v) HWY_ATTR { return hn::Add(sum, v); });
    }
    if (window == 1) continue;
    Accumulate(input(begin + window - 1), args.out.cols, out,
               [&](Floats sum, Floats v) HWY_ATTR { return hn::Div(hn::Add(sum, v), divisor); });
  }
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
