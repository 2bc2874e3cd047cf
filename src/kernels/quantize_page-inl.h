// The fused code of operator quantize_page. Compiled once per target, and by artifacts
// (src/compile) with a model's sizes as constants.
#if defined(HSTU_KERNELS_QUANTIZE_PAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_QUANTIZE_PAGE_INL_H_
#undef HSTU_KERNELS_QUANTIZE_PAGE_INL_H_
#else
#define HSTU_KERNELS_QUANTIZE_PAGE_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/quantize_page.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// One head's `count` elements, a multiple of 16; returns their scale.
HWY_INLINE float QuantizeHead(const float* from, int64_t count, int8_t* to) {
  const FloatTag d;
  const hn::Rebind<int8_t, FloatTag> d8;
  Floats largest = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanes) {
    largest = hn::Max(largest, hn::Abs(hn::LoadU(d, from + i)));
  }
  const float top = hn::GetLane(hn::MaxOfLanes(d, largest));
  const Floats inverse = hn::Set(d, top > 0.0f ? 127.0f / top : 0.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto integers = hn::NearestInt(hn::Mul(hn::LoadU(d, from + i), inverse));
    hn::StoreU(hn::DemoteTo(d8, integers), d8, to + i);
  }
  return top / 127.0f;
}

HWY_INLINE void QuantizeHeads(int64_t heads, int64_t elements, const std::byte* from,
                              std::byte* to) {
  const int64_t count = elements / heads;
  for (int64_t head = 0; head < heads; ++head) {
    KvPageLayout::Scales(to, elements)[head] =
        QuantizeHead(reinterpret_cast<const float*>(from) + head * count, count,
                     reinterpret_cast<int8_t*>(to) + head * count);
  }
}

HWY_INLINE void QuantizePageBody(const QuantizePageArgs& args) {
  const KvPageLayout& layout = args.layout;
  QuantizeHeads(layout.heads, layout.KeyPageElements(), args.keys, args.int8_keys);
  QuantizeHeads(layout.heads, layout.ValuePageElements(), args.values, args.int8_values);
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_QUANTIZE_PAGE_INL_H_
