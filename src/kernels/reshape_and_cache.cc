#include "kernels/reshape_and_cache.h"

#include <algorithm>

namespace hstu {
namespace {

// k [D] -> every 16th float of its panel.
void WriteKey(const float* k, int64_t dim, float* slot) {
  for (int64_t i = 0; i < dim; ++i) slot[i * kPanelWidth] = k[i];
}

// v [D] -> a row of 16 in every panel, zeros past D.
void WriteValue(const float* v, int64_t dim, int64_t panel_stride, float* slot) {
  for (int64_t begin = 0; begin < dim; begin += kPanelWidth) {
    const int64_t count = std::min<int64_t>(kPanelWidth, dim - begin);
    std::copy_n(v + begin, count, slot);
    std::fill(slot + count, slot + kPanelWidth, 0.0f);
    slot += panel_stride;
  }
}

}  // namespace

void ReshapeAndCache(const ReshapeAndCacheArgs& args) {
  const KvPageLayout& layout = args.layout;
  for (int64_t row = 0; row < args.k.rows; ++row) {
    const int64_t position = args.position + row;
    const int64_t entry = position % layout.page_tokens;
    float* keys = args.blocks.KeyPage(position, layout);
    float* values = args.blocks.ValuePage(position, layout);
    for (int64_t head = 0; head < layout.heads; ++head) {
      WriteKey(args.k.Row(row) + head * layout.dim, layout.dim,
               keys + layout.KeyPanelOffset(head, entry) + entry % kPanelWidth);
      WriteValue(args.v.Row(row) + head * layout.dim, layout.dim, layout.page_tokens * kPanelWidth,
                 values + layout.ValueRowOffset(head, 0, entry));
    }
  }
}

}  // namespace hstu
