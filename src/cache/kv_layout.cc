#include "cache/kv_layout.h"

#include "base/error.h"

namespace hstu {

int64_t KvLayout::KeyFloats() const {
  return static_cast<int64_t>(key_offsets.size()) * pages * page.KeyPageFloats();
}

int64_t KvLayout::ValueFloats() const {
  return static_cast<int64_t>(value_offsets.size()) * pages * page.ValuePageFloats();
}

int64_t KvLayout::Bytes() const {
  return (KeyFloats() + ValueFloats()) * static_cast<int64_t>(sizeof(float));
}

int64_t KvPageBytes(const KvModelShape& shape, int64_t page_tokens) {
  const KvPageLayout page{shape.heads, shape.dim, page_tokens};
  return shape.num_layers * (page.KeyPageFloats() + page.ValuePageFloats()) *
         static_cast<int64_t>(sizeof(float));
}

int64_t KvPagesPerUser(const KvModelShape& shape, int64_t page_tokens) {
  return CeilDiv(shape.max_history_tokens, page_tokens) + 1;
}

Status CheckPageTokens(int64_t page_tokens) {
  if (page_tokens == 32 || page_tokens == 64 || page_tokens == 128) return {};
  return MakeError(ErrorCode::kBadArgument,
                   "page_size {}: pages of 32, 64 or 128 tokens are whole panels of 16 keys and "
                   "divide the 256 keys that are summed together",
                   page_tokens);
}

Result<KvLayout> MakeKvLayout(const KvModelShape& shape, int64_t page_tokens, int64_t pages) {
  HSTU_RETURN_IF_ERROR(CheckPageTokens(page_tokens));
  const int64_t needed = KvPagesPerUser(shape, page_tokens);
  if (pages < needed) {
    return MakeError(ErrorCode::kBadArgument,
                     "kv_pages {}: one user of {} tokens needs {} pages of {} tokens ({} bytes)",
                     pages, shape.max_history_tokens, needed, page_tokens,
                     needed * KvPageBytes(shape, page_tokens));
  }
  KvLayout layout;
  layout.page = {shape.heads, shape.dim, page_tokens};
  layout.pages = pages;
  for (int64_t layer = 0; layer < shape.num_layers; ++layer) {
    layout.key_offsets.push_back(layer * pages * layout.page.KeyPageFloats());
    layout.value_offsets.push_back(layer * pages * layout.page.ValuePageFloats());
  }
  return layout;
}

}  // namespace hstu
