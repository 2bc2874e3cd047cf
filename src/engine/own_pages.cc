#include "engine/own_pages.h"

#include <algorithm>
#include <cstring>

namespace hstu {
namespace {

constexpr int32_t kOnlyPage[] = {0};

}  // namespace

void OwnPages::Place(const KvPageLayout& layout, int64_t pages, Arena* arena) {
  int8_ = layout;
  f32_ = layout.As(KvDType::kF32);
  pages_ = pages;
  keys_ = arena->Take<std::byte>(pages * f32_.KeyPageBytes());
  values_ = arena->Take<std::byte>(pages * f32_.ValuePageBytes());
}

void OwnPages::Begin(const PieceStage& stage, int64_t layers) const {
  const bool in_the_middle = stage.history_first % f32_.page_tokens != 0;
  if (!in_the_middle || stage.history_first != stage.mask.history_begin) return;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const Page page = Find(stage, layer, stage.history_first);
    std::memset(page.keys, 0, f32_.KeyPageBytes());
    std::memset(page.values, 0, f32_.ValuePageBytes());
  }
}

OwnPages::Page OwnPages::Open(const PieceStage& stage, int64_t layer) const {
  std::byte* keys = stage.memory.open + layer * OpenPageBytes(int8_);
  return {keys, keys + f32_.KeyPageBytes()};
}

OwnPages::Page OwnPages::Find(const PieceStage& stage, int64_t layer, int64_t position) const {
  const int64_t index = position / f32_.page_tokens - stage.history_first / f32_.page_tokens;
  if (index == 0 && stage.memory.open != nullptr) return Open(stage, layer);
  const int64_t page = stage.own_page + index;
  return {keys_ + page * f32_.KeyPageBytes(), values_ + page * f32_.ValuePageBytes()};
}

OwnPage OwnPages::At(const PieceStage& stage, int64_t layer, int64_t position) const {
  const Page page = Find(stage, layer, position);
  return {position / f32_.page_tokens, page.keys, page.values};
}

OwnPage OwnPages::OfCandidates(const PieceStage& stage, int64_t layer) const {
  const int64_t end = stage.mask.history_end;
  if (end % f32_.page_tokens == 0 || end == stage.mask.history_begin) return {};
  return At(stage, layer, end);
}

void OwnPages::Write(const Operators& operators, const PieceStage& stage, int64_t layer,
                     int64_t position, const ConstActivations& k, const ConstActivations& v) const {
  for (int64_t row = 0; row < k.rows;) {
    const int64_t at = position + row;
    const int64_t index = at / f32_.page_tokens;
    const int64_t count = std::min(k.rows - row, (index + 1) * f32_.page_tokens - at);
    const Page page = Find(stage, layer, at);
    operators.reshape_and_cache({k.Rows(row, count),
                                 v.Rows(row, count),
                                 at,
                                 f32_,
                                 {page.keys, page.values, kOnlyPage, index}});
    row += count;
  }
}

void OwnPages::Close(const Operators& operators, const PieceStage& stage, int64_t layer,
                     int64_t position) const {
  const Page page = Find(stage, layer, position);
  const KvBlocks blocks = stage.memory.Layer(layer);
  operators.quantize_page({int8_, page.keys, page.values, blocks.KeyPage(position, int8_),
                           blocks.ValuePage(position, int8_)});
}

void OwnPages::Keep(const PieceStage& stage, int64_t layer) const {
  const int64_t end = stage.mask.history_end;
  if (stage.memory.open == nullptr || stage.history_count == 0) return;
  if (end % f32_.page_tokens == 0) return;
  const Page from = Find(stage, layer, end);
  const Page to = Open(stage, layer);
  if (from.keys == to.keys) return;
  std::memcpy(to.keys, from.keys, f32_.KeyPageBytes());
  std::memcpy(to.values, from.values, f32_.ValuePageBytes());
}

}  // namespace hstu
