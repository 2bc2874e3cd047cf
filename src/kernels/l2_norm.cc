#include "kernels/l2_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/l2_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/l2_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void L2Norm(const L2NormArgs& args) { L2NormBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(L2Norm);

L2NormFn* L2NormFor(Isa isa) { return HSTU_DISPATCH(L2Norm, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
