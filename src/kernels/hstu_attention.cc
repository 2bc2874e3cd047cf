#include "kernels/hstu_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hstu_attention.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/hstu_attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void HstuAttention(const HstuAttentionArgs& args) { HstuAttentionBody(args); }
void HstuAttentionChunk(const HstuAttentionArgs& args, int64_t chunk, float* part) {
  HstuAttentionChunkBody(args, chunk, part);
}
void HstuAttentionJoin(const HstuAttentionArgs& args, int64_t chunks, const float* parts) {
  HstuAttentionJoinBody(args, chunks, parts);
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(HstuAttention);
HWY_EXPORT(HstuAttentionChunk);
HWY_EXPORT(HstuAttentionJoin);

HstuAttentionFn* HstuAttentionFor(Isa isa) { return HSTU_DISPATCH(HstuAttention, isa); }

HstuAttentionChunkFn* HstuAttentionChunkFor(Isa isa) {
  return HSTU_DISPATCH(HstuAttentionChunk, isa);
}

HstuAttentionJoinFn* HstuAttentionJoinFor(Isa isa) { return HSTU_DISPATCH(HstuAttentionJoin, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
