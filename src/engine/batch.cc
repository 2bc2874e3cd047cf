#include "engine/batch.h"

#include <algorithm>

namespace hstu {
namespace {

int64_t RowsOf(const Sequence& sequence, const HistoryPlan& plan) {
  return plan.end - plan.resume + sequence.num_candidates();
}

}  // namespace

Batcher::Batcher(const ModelConfig& config, int64_t chunk_tokens, Workspace* workspace)
    : config_(config), chunk_tokens_(chunk_tokens), workspace_(*workspace) {}

bool Batcher::NeedsChunks(const Sequence& sequence, const HistoryPlan& plan) const {
  if (RowsOf(sequence, plan) > workspace_.limits().tokens) return true;
  const int64_t history = plan.end - plan.resume;
  return chunk_tokens_ > 0 && history > chunk_tokens_ && !config_.contextual_mask;
}

int64_t Batcher::PagesOf(const HistoryPlan& plan) const {
  const int64_t page = workspace_.layout().page_tokens;
  return CeilDiv(plan.end, page) - plan.first / page;
}

bool Batcher::Fits(const Sequence& sequence, const HistoryPlan& plan, bool cached) const {
  if (workspace_.pieces.empty()) return true;
  if (workspace_.pieces.size() == workspace_.pieces.capacity()) return false;
  if (rows_ + RowsOf(sequence, plan) > workspace_.limits().tokens) return false;
  return cached || pages_ + PagesOf(plan) <= workspace_.limits().step_pages;
}

Piece Batcher::Begin(const Sequence& sequence, const HistoryPlan& plan) const {
  Piece piece;
  piece.user = &sequence.tokens;
  piece.num_context = static_cast<int64_t>(sequence.tokens.contextual.size());
  piece.first_item = plan.first_item;
  piece.total_history = plan.end;
  piece.mask.history_begin = plan.first;
  // Dropped contextual tokens are history like others.
  piece.mask.num_context = plan.first > 0 ? 0 : piece.num_context;
  piece.mask.window = config_.max_attn_len;
  piece.mask.group = config_.target_group_size;
  piece.mask.contextual_mask = config_.contextual_mask;
  return piece;
}

void Batcher::AddWhole(const Sequence& sequence, const HistoryPlan& plan,
                       const std::optional<PieceKv>& kv) {
  Piece piece = Begin(sequence, plan);
  piece.mask.history_end = plan.end;
  piece.history_first = plan.resume;
  piece.history_count = plan.end - plan.resume;
  piece.candidate_count = sequence.num_candidates();
  if (kv) {
    piece.kv = *kv;
  } else {
    piece.kv = workspace_.StepKv(pages_, plan.first);
    pages_ += PagesOf(plan);
  }
  workspace_.pieces.push_back(piece);
  rows_ += RowsOf(sequence, plan);
}

void Batcher::SetChunk(const Sequence& sequence, const HistoryPlan& plan, const PieceKv& kv,
                       ChunkProgress* progress) {
  Clear();
  const int64_t limit = workspace_.limits().tokens;
  int64_t chunk = chunk_tokens_ > 0 ? std::min(chunk_tokens_, limit) : limit;
  if (config_.contextual_mask) chunk = limit;  // computed whole, and the limit lets it
  Piece piece = Begin(sequence, plan);
  piece.kv = kv;
  piece.history_first = progress->history;
  piece.history_count = std::min(chunk, plan.end - progress->history);
  progress->history += piece.history_count;
  piece.mask.history_end = progress->history;
  if (progress->history == plan.end) {
    const int64_t left = sequence.num_candidates() - progress->candidates;
    const int64_t room = limit - piece.history_count;
    piece.candidate_first = progress->candidates;
    // Whole groups, but for the last.
    piece.candidate_count =
        left <= room ? left : room / config_.target_group_size * config_.target_group_size;
    progress->candidates += piece.candidate_count;
  }
  workspace_.pieces.push_back(piece);
}

void Batcher::NumberRows() {
  int64_t row = 0;
  for (Piece& piece : workspace_.pieces) {
    piece.history_row = row;
    row += piece.history_count;
  }
  for (Piece& piece : workspace_.pieces) {
    piece.candidate_row = row;
    row += piece.candidate_count;
  }
}

void Batcher::Clear() {
  workspace_.pieces.clear();
  rows_ = 0;
  pages_ = 0;
}

}  // namespace hstu
