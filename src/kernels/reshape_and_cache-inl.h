// The fused code of operator reshape_and_cache. Compiled once per target, and by artifacts
// (src/compile) with a model's sizes as constants.
#if defined(HSTU_KERNELS_RESHAPE_AND_CACHE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_RESHAPE_AND_CACHE_INL_H_
#undef HSTU_KERNELS_RESHAPE_AND_CACHE_INL_H_
#else
#define HSTU_KERNELS_RESHAPE_AND_CACHE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/panel.h"
#include "kernels/reshape_and_cache.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// Elements of a row that are converted together, before they are spread over the page.
constexpr int64_t kRun = 256;

HWY_INLINE void StoreAs(Floats value, KvDType dtype, float* to) {
  (void)dtype;
  hn::StoreU(value, FloatTag(), to);
}
HWY_INLINE void StoreAs(Floats value, KvDType dtype, uint16_t* to) {
  hn::StoreU(dtype == KvDType::kBF16 ? BF16FromFloats(value) : F16FromFloats(value), HalfBits(),
             to);
}

// The run's `count` elements as they are stored; `run` has room for a vector more.
template <class T, class Slot>
HWY_INLINE void Convert(const T* from, int64_t count, KvDType dtype, Slot* run) {
  ForVectors(count, [&](int64_t i, auto lanes)
                        HWY_ATTR { StoreAs(Load(from + i, lanes), dtype, run + i); });
}

// k [D] of one head -> every 16th element of its panel.
template <class T, class Slot>
HWY_INLINE void WriteKey(const T* k, int64_t dim, KvDType dtype, Slot* slot) {
  Slot run[kRun + kLanes];
  for (int64_t begin = 0; begin < dim; begin += kRun) {
    const int64_t count = std::min(kRun, dim - begin);
    Convert(k + begin, count, dtype, run);
    for (int64_t i = 0; i < count; ++i) slot[(begin + i) * kPanelWidth] = run[i];
  }
}

// v [D] of one head -> a row of 16 in every panel, zeros past D.
template <class T, class Slot>
HWY_INLINE void WriteValue(const T* v, int64_t dim, KvDType dtype, int64_t panel_stride,
                           Slot* slot) {
  Slot run[kPanelWidth + kLanes];
  for (int64_t begin = 0; begin < dim; begin += kPanelWidth) {
    const int64_t count = std::min<int64_t>(kPanelWidth, dim - begin);
    Convert(v + begin, count, dtype, run);
    std::fill(run + count, run + kPanelWidth, Slot());
    std::memcpy(slot, run, kPanelWidth * sizeof(Slot));
    slot += panel_stride;
  }
}

template <class T, class Slot>
HWY_INLINE void CacheRows(const ReshapeAndCacheArgs& args) {
  const KvPageLayout& layout = args.layout;
  for (int64_t row = 0; row < args.k.rows; ++row) {
    const int64_t position = args.position + row;
    const int64_t entry = position % layout.page_tokens;
    auto* keys = reinterpret_cast<Slot*>(args.blocks.KeyPage(position, layout));
    auto* values = reinterpret_cast<Slot*>(args.blocks.ValuePage(position, layout));
    for (int64_t head = 0; head < layout.heads; ++head) {
      const int64_t column = head * layout.dim;
      WriteKey(args.k.RowAs<T>(row) + column, layout.dim, layout.dtype,
               keys + layout.KeyPanelOffset(head, entry) + entry % kPanelWidth);
      WriteValue(args.v.RowAs<T>(row) + column, layout.dim, layout.dtype,
                 layout.page_tokens * kPanelWidth, values + layout.ValueRowOffset(head, 0, entry));
    }
  }
}

HWY_INLINE void ReshapeAndCacheBody(const ReshapeAndCacheArgs& args) {
  WithElement(args.k.dtype, [&](auto element) HWY_ATTR {
    if (args.layout.dtype == KvDType::kF32) {
      CacheRows<decltype(element), float>(args);
    } else {
      CacheRows<decltype(element), uint16_t>(args);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_RESHAPE_AND_CACHE_INL_H_
