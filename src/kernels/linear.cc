#include "kernels/linear.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/gemm-inl.h"

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

void Linear(const LinearArgs& args) {
  const float floor = args.relu ? 0.0f : -__builtin_inff();
  Gemm(args.x, *args.weight, 0, args.weight->panels(), args.scratch,
       BiasRelu{args.bias, floor, args.out});
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(Linear);

LinearFn* LinearFor(Isa isa) { return HSTU_DISPATCH(Linear, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
