#include "engine/batch.h"

#include <algorithm>

namespace hstu {
namespace {

int64_t RowsOf(const Sequence& sequence, const HistoryPlan& plan) {
  return plan.tokens().end - plan.tokens().resume + sequence.num_candidates();
}

}  // namespace

Batcher::Batcher(const ModelConfig& config, int64_t chunk_tokens, const Artifacts* artifacts,
                 Workspace* workspace)
    : config_(config),
      chunk_tokens_(chunk_tokens),
      artifacts_(artifacts),
      workspace_(*workspace),
      stages_(config.stages.size()) {}

bool Batcher::NeedsChunks(const Sequence& sequence, const HistoryPlan& plan) const {
  if (RowsOf(sequence, plan) > workspace_.limits().tokens) return true;
  const int64_t history = plan.tokens().end - plan.tokens().resume;
  return chunk_tokens_ > 0 && history > chunk_tokens_ && !config_.contextual_mask;
}

int64_t Batcher::PagesOf(const HistoryPlan& plan) const {
  int64_t pages = 0;
  for (const StageSpan& stage : plan.stages) {
    pages = std::max(pages, PagesFor(stage.first, stage.end, workspace_.layout().page_tokens));
  }
  return pages;
}

// f32 pages that the computed tokens take beside int8 ones.
int64_t Batcher::OwnPagesOf(const HistoryPlan& plan) const {
  int64_t pages = 0;
  if (workspace_.layout().dtype != KvDType::kInt8) return pages;
  for (const StageSpan& stage : plan.stages) {
    pages = std::max(pages, PagesFor(stage.resume, stage.end, workspace_.layout().page_tokens));
  }
  return pages;
}

bool Batcher::Fits(const Sequence& sequence, const HistoryPlan& plan, bool cached) const {
  if (workspace_.pieces.empty()) return true;
  if (workspace_.pieces.size() == workspace_.pieces.capacity()) return false;
  if (rows_ + RowsOf(sequence, plan) > workspace_.limits().tokens) return false;
  if (own_pages_ + OwnPagesOf(plan) > workspace_.limits().step_pages) return false;
  if (!FitsABucket(RowsOf(sequence, plan), cached)) return false;
  return cached || pages_ + PagesOf(plan) <= workspace_.limits().step_pages;
}

// Whether a step that grows by a sequence of so many rows still runs in artifacts. What is too long
// for every bucket runs alone; if it may be cached, only a part of it may have to be computed, of
// which nothing is known yet.
bool Batcher::FitsABucket(int64_t rows, bool cached) const {
  if (artifacts_ == nullptr) return true;
  const auto sequences = static_cast<int64_t>(workspace_.pieces.size()) + 1;
  if (rows > artifacts_->longest() && cached) return sequences <= artifacts_->most_sequences();
  return artifacts_->Find(std::max(longest_, rows), sequences, rows_ + rows) >= 0;
}

Piece Batcher::Begin(const Sequence& sequence, const HistoryPlan& plan) const {
  Piece piece;
  piece.user = &sequence.tokens;
  piece.num_context = static_cast<int64_t>(sequence.tokens.contextual.size());
  piece.first_item = plan.first_item;
  piece.total_history = plan.tokens().end;
  return piece;
}

PieceStage Batcher::BeginStage(const Sequence& sequence, const HistoryPlan& plan,
                               size_t stage) const {
  PieceStage part;
  part.mask.history_begin = plan.stages[stage].first;
  // Contextual tokens that were pooled or dropped are history like others.
  const bool has_context = stage == 0 && plan.tokens().first == 0;
  part.mask.num_context = has_context ? static_cast<int64_t>(sequence.tokens.contextual.size()) : 0;
  part.mask.window = config_.max_attn_len;
  part.mask.group = config_.target_group_size;
  part.mask.contextual_mask = config_.contextual_mask;
  return part;
}

void Batcher::AddWhole(const Sequence& sequence, const HistoryPlan& plan,
                       std::span<const StageMemory> memory) {
  for (size_t i = 0; i < stages_.size(); ++i) {
    const StageSpan& span = plan.stages[i];
    PieceStage& stage = stages_[i];
    stage = BeginStage(sequence, plan, i);
    stage.mask.history_end = span.end;
    stage.history_first = span.resume;
    stage.history_count = span.end - span.resume;
    stage.memory = memory.empty() ? workspace_.StepMemory(pages_, span.first) : memory[i];
    stage.own_page = own_pages_;
  }
  if (memory.empty()) pages_ += PagesOf(plan);
  own_pages_ += OwnPagesOf(plan);
  Piece piece = Begin(sequence, plan);
  piece.candidate_count = sequence.num_candidates();
  workspace_.Add(piece, stages_);
  rows_ += RowsOf(sequence, plan);
  longest_ = std::max(longest_, RowsOf(sequence, plan));
}

void Batcher::SetChunk(const Sequence& sequence, const HistoryPlan& plan,
                       std::span<const StageMemory> memory, ChunkProgress* progress) {
  Clear();
  const int64_t limit = workspace_.limits().tokens;
  int64_t chunk = chunk_tokens_ > 0 ? std::min(chunk_tokens_, limit) : limit;
  if (config_.contextual_mask) chunk = limit;  // computed whole, and the limit lets it
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i] = BeginStage(sequence, plan, i);
    stages_[i].history_first = progress->history[i];
    stages_[i].memory = memory[i];
  }
  const int64_t end = std::min(progress->history[0] + chunk, plan.tokens().end);
  AdvanceTo(config_.stages, end, &progress->history);
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].mask.history_end = progress->history[i];
    stages_[i].history_count = progress->history[i] - stages_[i].history_first;
  }
  Piece piece = Begin(sequence, plan);
  if (end == plan.tokens().end) {
    const int64_t left = sequence.num_candidates() - progress->candidates;
    const int64_t room = limit - stages_[0].history_count;
    piece.candidate_first = progress->candidates;
    // Whole groups, but for the last.
    piece.candidate_count =
        left <= room ? left : room / config_.target_group_size * config_.target_group_size;
    progress->candidates += piece.candidate_count;
  }
  workspace_.Add(piece, stages_);
}

void Batcher::NumberRows() {
  int64_t candidates = 0;
  for (Piece& piece : workspace_.pieces) {
    piece.candidate_row = candidates;
    candidates += piece.candidate_count;
  }
  for (size_t i = 0; i < stages_.size(); ++i) {
    int64_t row = candidates;
    for (Piece& piece : workspace_.pieces) {
      piece.stages[i].history_row = row;
      row += piece.stages[i].history_count;
    }
  }
}

void Batcher::Clear() {
  workspace_.pieces.clear();
  rows_ = 0;
  pages_ = 0;
  own_pages_ = 0;
  longest_ = 0;
}

}  // namespace hstu
