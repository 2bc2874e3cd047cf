#include "engine/batch.h"

#include <algorithm>

namespace hstu {

Batcher::Batcher(const ModelConfig& config, int64_t chunk_tokens, Workspace* workspace)
    : config_(config), chunk_tokens_(chunk_tokens), workspace_(*workspace) {}

bool Batcher::NeedsChunks(const Sequence& sequence) const {
  if (sequence.rows() > workspace_.limits().tokens) return true;
  const int64_t history = sequence.history_end() - sequence.skip;
  return chunk_tokens_ > 0 && history > chunk_tokens_ && !config_.contextual_mask;
}

AttentionMask Batcher::MaskOf(const Sequence& sequence, int64_t history_end) const {
  AttentionMask mask;
  mask.history_begin = sequence.skip;
  mask.history_end = history_end;
  // Dropped contextual tokens are history like others.
  mask.num_context =
      sequence.skip > 0 ? 0 : static_cast<int64_t>(sequence.tokens.contextual.size());
  mask.window = config_.max_attn_len;
  mask.group = config_.target_group_size;
  mask.contextual_mask = config_.contextual_mask;
  return mask;
}

bool Batcher::AddWhole(const Sequence& sequence) {
  const int64_t page = workspace_.layout().page_tokens;
  const int64_t pages = CeilDiv(sequence.history_end(), page) - sequence.skip / page;
  if (!workspace_.pieces.empty() && (rows_ + sequence.rows() > workspace_.limits().tokens ||
                                     pages_ + pages > workspace_.limits().step_pages)) {
    return false;
  }
  Piece piece;
  piece.user = &sequence.tokens;
  piece.mask = MaskOf(sequence, sequence.history_end());
  piece.num_context = static_cast<int64_t>(sequence.tokens.contextual.size());
  piece.total_history = sequence.history_end();
  piece.history_first = sequence.skip;
  piece.history_count = sequence.history_end() - sequence.skip;
  piece.candidate_count = sequence.num_candidates();
  piece.kv = workspace_.StepKv(pages_, sequence.skip);
  workspace_.pieces.push_back(piece);
  rows_ += sequence.rows();
  pages_ += pages;
  return true;
}

void Batcher::SetChunk(const Sequence& sequence, ChunkProgress* progress) {
  Clear();
  const int64_t limit = workspace_.limits().tokens;
  int64_t chunk = chunk_tokens_ > 0 ? std::min(chunk_tokens_, limit) : limit;
  if (config_.contextual_mask) chunk = limit;  // computed whole, and the limit lets it
  Piece piece;
  piece.user = &sequence.tokens;
  piece.num_context = static_cast<int64_t>(sequence.tokens.contextual.size());
  piece.total_history = sequence.history_end();
  piece.history_first = progress->history;
  piece.history_count = std::min(chunk, sequence.history_end() - progress->history);
  progress->history += piece.history_count;
  piece.mask = MaskOf(sequence, progress->history);
  if (progress->history == sequence.history_end()) {
    const int64_t left = sequence.num_candidates() - progress->candidates;
    const int64_t room = limit - piece.history_count;
    piece.candidate_first = progress->candidates;
    // Whole groups, but for the last.
    piece.candidate_count =
        left <= room ? left : room / config_.target_group_size * config_.target_group_size;
    progress->candidates += piece.candidate_count;
  }
  piece.kv = workspace_.SequenceKv(sequence.skip);
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
