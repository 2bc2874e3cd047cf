#include "cache/kv_layout.h"

#include <algorithm>

#include "base/aligned.h"
#include "base/error.h"

namespace hstu {
namespace {

// What users keep beside pages is at most this part of the pages' bytes.
constexpr int64_t kBesideShare = 4;

KvPageLayout PageLayout(const KvModelShape& shape, int64_t page_tokens) {
  return {shape.heads, shape.dim, page_tokens, shape.dtype};
}

// Each stage's pages where the first has `pages` of them.
std::vector<KvStageLayout> StageLayouts(const KvModelShape& shape, int64_t page_tokens,
                                        int64_t pages) {
  const std::vector<int64_t> per_user = KvPagesPerUser(shape, page_tokens);
  std::vector<KvStageLayout> stages;
  int64_t layer = 0;
  for (size_t i = 0; i < per_user.size(); ++i) {
    const int64_t layers = shape.stages[i].num_layers;
    stages.push_back({layer, layers, CeilDiv(pages * per_user[i], per_user[0])});
    layer += layers;
  }
  return stages;
}

int64_t BesideBytesOf(const KvModelShape& shape, const KvPageLayout& page, size_t stage) {
  return WaitingFloats(shape, stage) * static_cast<int64_t>(sizeof(float)) +
         shape.stages[stage].num_layers * OpenPageBytes(page);
}

// A layout but for its offsets.
KvLayout SizeLayout(const KvModelShape& shape, int64_t page_tokens, int64_t pages) {
  KvLayout layout;
  layout.shape = shape;
  layout.page = PageLayout(shape, page_tokens);
  layout.stages = StageLayouts(shape, page_tokens, pages);
  int64_t beside = 0;  // of one user
  for (size_t i = 0; i < shape.stages.size(); ++i) beside += BesideBytesOf(shape, layout.page, i);
  if (beside == 0) return layout;
  // A user has a page at least, on some rank.
  const int64_t fit = (layout.KeyBytes() + layout.ValueBytes()) / kBesideShare / beside;
  layout.users = std::clamp<int64_t>(fit, 1, std::max<int64_t>(1, pages * shape.ranks));
  layout.beside_bytes = layout.users * beside;
  return layout;
}

}  // namespace

size_t KvLayout::StageOf(int64_t layer) const {
  size_t stage = 0;
  while (layer >= stages[stage].first_layer + stages[stage].num_layers) ++stage;
  return stage;
}

int64_t KvLayout::LayerPages() const {
  int64_t pages = 0;
  for (const KvStageLayout& stage : stages) pages += stage.num_layers * stage.pages;
  return pages;
}

int64_t LayerPageBytes(const KvPageLayout& page) {
  return page.KeyPageBytes() + page.ValuePageBytes();
}

int64_t OpenPageBytes(const KvPageLayout& page) {
  if (page.dtype != KvDType::kInt8) return 0;
  const KvPageLayout f32 = page.As(KvDType::kF32);
  return f32.KeyPageBytes() + f32.ValuePageBytes();
}

int64_t WaitingFloats(const KvModelShape& shape, std::size_t stage) {
  return (shape.stages[stage].aggregation.window - 1) * shape.hidden_size;
}

int64_t OpenBytes(const KvLayout& layout, std::size_t stage) {
  return layout.shape.stages[stage].num_layers * OpenPageBytes(layout.page);
}

int64_t BesideBytes(const KvLayout& layout, std::size_t stage) {
  return BesideBytesOf(layout.shape, layout.page, stage);
}

int64_t PagesFor(int64_t first, int64_t end, int64_t page_tokens) {
  return end == first ? 0 : CeilDiv(end, page_tokens) - first / page_tokens;
}

std::vector<int64_t> KvPagesPerUser(const KvModelShape& shape, int64_t page_tokens) {
  std::vector<int64_t> pages = MostKept(shape.stages, shape.max_history_tokens);
  for (int64_t& count : pages) {
    const int64_t chunks = CeilDiv(CeilDiv(count, kKeyChunk) + 1, shape.ranks);
    count = CeilDiv(count, page_tokens) + 1;
    if (shape.ranks > 1) count = std::min(count, chunks * kKeyChunk / page_tokens);
  }
  return pages;
}

KvUserBytes CountUserBytes(const KvModelShape& shape, int64_t page_tokens) {
  const StagePositions tokens = CompleteTokens(shape.stages, shape.max_history_tokens);
  const std::vector<int64_t> pages = KvPagesPerUser(shape, page_tokens);
  const int64_t page_bytes = LayerPageBytes(PageLayout(shape, page_tokens));
  KvUserBytes bytes;
  for (size_t i = 0; i < pages.size(); ++i) {
    const int64_t layer = shape.stages[i].num_layers * page_bytes;
    bytes.staged += layer * pages[i];
    bytes.uniform += layer * pages[0];
    bytes.separate += layer * CeilDiv(tokens[i], page_tokens);
  }
  return bytes;
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
  const int64_t needed = KvPagesPerUser(shape, page_tokens)[0];
  if (pages < needed) {
    return MakeError(ErrorCode::kBadArgument,
                     "kv_pages {}: one user of {} tokens needs {} pages of {} tokens ({} bytes)",
                     pages, shape.max_history_tokens, needed, page_tokens,
                     SizeLayout(shape, page_tokens, needed).Bytes());
  }
  KvLayout layout = SizeLayout(shape, page_tokens, pages);
  int64_t page = 0;
  for (const KvStageLayout& stage : layout.stages) {
    for (int64_t i = 0; i < stage.num_layers; ++i) {
      layout.key_offsets.push_back(page * layout.page.KeyPageBytes());
      layout.value_offsets.push_back(page * layout.page.ValuePageBytes());
      page += stage.pages;
    }
  }
  return layout;
}

int64_t KvPagesWithin(const KvModelShape& shape, int64_t page_tokens, int64_t bytes) {
  int64_t fits = 0;
  int64_t too_many = bytes / LayerPageBytes(PageLayout(shape, page_tokens)) + 1;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (SizeLayout(shape, page_tokens, middle).Bytes() <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace hstu
