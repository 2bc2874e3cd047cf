#include "kernels/attention_update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_update.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/attention_update-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void AttentionUpdate(const AttentionUpdateArgs& args) { AttentionUpdateBody(args); }
void AttentionUpdateList(const AttentionUpdateListArgs& args) { AttentionUpdateBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(AttentionUpdate);
HWY_EXPORT(AttentionUpdateList);

AttentionUpdateFn* AttentionUpdateFor(Isa isa) { return HSTU_DISPATCH(AttentionUpdate, isa); }

AttentionUpdateListFn* AttentionUpdateListFor(Isa isa) {
  return HSTU_DISPATCH(AttentionUpdateList, isa);
}

}  // namespace hstu
#endif  // HWY_ONCE
