#include "kernels/in_linear_silu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/in_linear_silu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/in_linear_silu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void InLinearSilu(const InLinearSiluArgs& args) { InLinearSiluBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(InLinearSilu);

InLinearSiluFn* InLinearSiluFor(Isa isa) { return HSTU_DISPATCH(InLinearSilu, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
