#include "kernels/linear_residual.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_residual.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/linear_residual-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void LinearResidual(const LinearResidualArgs& args) { LinearResidualBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(LinearResidual);

LinearResidualFn* LinearResidualFor(Isa isa) { return HSTU_DISPATCH(LinearResidual, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
