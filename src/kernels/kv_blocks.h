// K and V of one sequence in one layer, given as pages: attention reads pages where they lie.
//
// A page holds `page_tokens` tokens (a multiple of 16) of all heads. Within a page
//   K is [H][page_tokens / 16][D][16]       (16 keys side by side: one panel of the score tile)
//   V is [H][ceil(D / 16)][page_tokens][16] (16 channels side by side; channels past D are zero)
// in f32, bf16, f16 or int8. Behind the elements of an int8 page lie [H] f32 scales: an element's
// value is its integer times its head's scale.
#ifndef HSTU_KERNELS_KV_BLOCKS_H_
#define HSTU_KERNELS_KV_BLOCKS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/panel.h"
#include "tensor/kv_dtype.h"

namespace hstu {

// Keys that are summed together from zero before their sum joins the others: chunk i holds the
// absolute positions [256 i, 256 (i + 1)). Part of the numerics.
inline constexpr int kKeyChunk = 256;

// Which of `ranks` that share a user's keys holds a chunk.
constexpr int64_t OwnerOfChunk(int64_t chunk, int64_t ranks) { return chunk % ranks; }
// How many of the chunks [first, first + count) a rank holds.
constexpr int64_t OwnedChunks(int64_t first, int64_t count, int64_t rank, int64_t ranks) {
  const auto below = [&](int64_t end) { return (end + ranks - 1 - rank) / ranks; };
  return below(first + count) - below(first);
}

struct KvPageLayout {
  int64_t heads = 0;
  int64_t dim = 0;  // D, of one head
  int64_t page_tokens = 0;
  KvDType dtype = KvDType::kF32;

  int64_t ValuePanels() const { return CeilDiv(dim, kPanelWidth); }
  int64_t KeyPageElements() const { return heads * page_tokens * dim; }
  int64_t ValuePageElements() const { return heads * page_tokens * ValuePanels() * kPanelWidth; }
  int64_t KeyPageBytes() const { return PageBytes(KeyPageElements()); }
  int64_t ValuePageBytes() const { return PageBytes(ValuePageElements()); }
  // Within a page, of a head: the element at which the panel of 16 keys that holds `entry` begins.
  int64_t KeyPanelOffset(int64_t head, int64_t entry) const {
    return (head * page_tokens + entry / kPanelWidth * kPanelWidth) * dim;
  }
  // Within a page, of a head: the element at which row `entry` of the panel of channels
  // [16 panel, 16 panel + 16) begins.
  int64_t ValueRowOffset(int64_t head, int64_t panel, int64_t entry) const {
    return ((head * ValuePanels() + panel) * page_tokens + entry) * kPanelWidth;
  }
  // Of an int8 page with that many elements: [H].
  static float* Scales(std::byte* page, int64_t elements) {
    return reinterpret_cast<float*>(page + elements);
  }
  static const float* Scales(const std::byte* page, int64_t elements) {
    return reinterpret_cast<const float*>(page + elements);
  }

  // The same pages in another type.
  KvPageLayout As(KvDType other) const { return {heads, dim, page_tokens, other}; }

 private:
  int64_t PageBytes(int64_t elements) const {
    const int64_t scales =
        dtype == KvDType::kInt8 ? heads * static_cast<int64_t>(sizeof(float)) : 0;
    return RoundUp(elements * SizeOf(dtype) + scales, kPageAlignment);
  }
  static constexpr int64_t kPageAlignment = 64;  // bytes
};

// Page i of the sequence, which holds the positions [i, i + 1) * page_tokens, lies at
// base + table[i - first_page] * (bytes of a page).
struct KvBlocks {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  const int32_t* table = nullptr;
  int64_t first_page = 0;

  int64_t PageOf(int64_t position, const KvPageLayout& layout) const {
    return table[position / layout.page_tokens - first_page];
  }
  std::byte* KeyPage(int64_t position, const KvPageLayout& layout) const {
    return keys + PageOf(position, layout) * layout.KeyPageBytes();
  }
  std::byte* ValuePage(int64_t position, const KvPageLayout& layout) const {
    return values + PageOf(position, layout) * layout.ValuePageBytes();
  }
};

}  // namespace hstu

#endif  // HSTU_KERNELS_KV_BLOCKS_H_
