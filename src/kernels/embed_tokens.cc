#include "kernels/embed_tokens.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/embed_tokens.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/embed_tokens-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void EmbedTokens(const EmbedTokensArgs& args) { EmbedTokensBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(EmbedTokens);

EmbedTokensFn* EmbedTokensFor(Isa isa) { return HSTU_DISPATCH(EmbedTokens, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
