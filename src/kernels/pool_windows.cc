#include "kernels/pool_windows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_windows.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/pool_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void PoolWindows(const PoolWindowsArgs& args) { PoolWindowsBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(PoolWindows);

PoolWindowsFn* PoolWindowsFor(Isa isa) { return HSTU_DISPATCH(PoolWindows, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
