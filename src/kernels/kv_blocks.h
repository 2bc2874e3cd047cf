// K and V of one sequence in one layer, given as pages: attention reads pages where they lie.
//
// A page holds `page_tokens` tokens (a multiple of 16) of all heads. Within a page
//   K is [H][page_tokens / 16][D][16]       (16 keys side by side: one panel of the score tile)
//   V is [H][ceil(D / 16)][page_tokens][16] (16 channels side by side; channels past D are zero)
#ifndef HSTU_KERNELS_KV_BLOCKS_H_
#define HSTU_KERNELS_KV_BLOCKS_H_

#include <cstdint>

#include "kernels/panel.h"

namespace hstu {

// Keys that are summed together from zero before their sum joins the others: chunk i holds the
// absolute positions [256 i, 256 (i + 1)). Part of the numerics.
inline constexpr int kKeyChunk = 256;

struct KvPageLayout {
  int64_t heads;
  int64_t dim;  // D, of one head
  int64_t page_tokens;

  int64_t ValuePanels() const { return CeilDiv(dim, kPanelWidth); }
  int64_t KeyPageFloats() const { return heads * page_tokens * dim; }
  int64_t ValuePageFloats() const { return heads * page_tokens * ValuePanels() * kPanelWidth; }
  // Within a page, of a head: where the panel of 16 keys that holds `entry` begins.
  int64_t KeyPanelOffset(int64_t head, int64_t entry) const {
    return (head * page_tokens + entry / kPanelWidth * kPanelWidth) * dim;
  }
  // Within a page, of a head: row `entry` of the panel of channels [16 panel, 16 panel + 16).
  int64_t ValueRowOffset(int64_t head, int64_t panel, int64_t entry) const {
    return ((head * ValuePanels() + panel) * page_tokens + entry) * kPanelWidth;
  }
};

// Page i of the sequence, which holds the positions [i, i + 1) * page_tokens, lies at
// base + table[i - first_page] * (floats of a page).
struct KvBlocks {
  float* keys = nullptr;
  float* values = nullptr;
  const int32_t* table = nullptr;
  int64_t first_page = 0;

  int64_t PageOf(int64_t position, const KvPageLayout& layout) const {
    return table[position / layout.page_tokens - first_page];
  }
  float* KeyPage(int64_t position, const KvPageLayout& layout) const {
    return keys + PageOf(position, layout) * layout.KeyPageFloats();
  }
  float* ValuePage(int64_t position, const KvPageLayout& layout) const {
    return values + PageOf(position, layout) * layout.ValuePageFloats();
  }
};

}  // namespace hstu

#endif  // HSTU_KERNELS_KV_BLOCKS_H_
