#include "kernels/reshape_and_cache.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reshape_and_cache.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/reshape_and_cache-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void ReshapeAndCache(const ReshapeAndCacheArgs& args) { ReshapeAndCacheBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(ReshapeAndCache);

ReshapeAndCacheFn* ReshapeAndCacheFor(Isa isa) { return HSTU_DISPATCH(ReshapeAndCache, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
