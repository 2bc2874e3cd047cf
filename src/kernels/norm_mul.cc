#include "kernels/norm_mul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm_mul.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm_mul-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void NormMul(const NormMulArgs& args) { NormMulBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(NormMul);

NormMulFn* NormMulFor(Isa isa) { return HSTU_DISPATCH(NormMul, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
