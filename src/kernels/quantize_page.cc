#include "kernels/quantize_page.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize_page.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/quantize_page-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

void QuantizePage(const QuantizePageArgs& args) { QuantizePageBody(args); }

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(QuantizePage);

QuantizePageFn* QuantizePageFor(Isa isa) { return HSTU_DISPATCH(QuantizePage, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
