// The scalar reference of reshape_and_cache.
#include "kernels/reshape_and_cache.h"

namespace hstu {
namespace {

void StoreElement(KvDType dtype, float value, std::byte* page, int64_t index) {
  const DType element = dtype == KvDType::kF32    ? DType::kF32
                        : dtype == KvDType::kBF16 ? DType::kBF16
                                                  : DType::kF16;
  StoreFloat(element, value, page + index * SizeOf(dtype));
}

}  // namespace

void ReshapeAndCachePlain(const ReshapeAndCacheArgs& args) {
  const KvPageLayout& layout = args.layout;
  const int64_t padded_dim = layout.ValuePanels() * kPanelWidth;
  for (int64_t row = 0; row < args.k.rows; ++row) {
    const int64_t position = args.position + row;
    const int64_t entry = position % layout.page_tokens;
    std::byte* keys = args.blocks.KeyPage(position, layout);
    std::byte* values = args.blocks.ValuePage(position, layout);
    for (int64_t head = 0; head < layout.heads; ++head) {
      const int64_t key = layout.KeyPanelOffset(head, entry) + entry % kPanelWidth;
      for (int64_t i = 0; i < layout.dim; ++i) {
        StoreElement(layout.dtype, args.k.At(row, head * layout.dim + i), keys,
                     key + i * kPanelWidth);
      }
      for (int64_t i = 0; i < padded_dim; ++i) {
        const float value = i < layout.dim ? args.v.At(row, head * layout.dim + i) : 0.0f;
        StoreElement(layout.dtype, value, values,
                     layout.ValueRowOffset(head, i / kPanelWidth, entry) + i % kPanelWidth);
      }
    }
  }
}

}  // namespace hstu
