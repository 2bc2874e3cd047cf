// Splitting sequences into steps that fit the workspace.
#ifndef HSTU_ENGINE_BATCH_H_
#define HSTU_ENGINE_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compile/artifacts.h"
#include "engine/sequence.h"
#include "engine/workspace.h"

namespace hstu {

// How far a sequence that is computed in chunks has come.
struct ChunkProgress {
  explicit ChunkProgress(const HistoryPlan& plan) {
    for (const StageSpan& stage : plan.stages) history.push_back(stage.resume);
  }
  bool Done(const Sequence& sequence, const HistoryPlan& plan) const {
    return history[0] == plan.tokens().end && candidates == sequence.num_candidates();
  }

  StagePositions history;  // the next to compute
  int64_t candidates = 0;  // scored
};

class Batcher {
 public:
  // `chunk_tokens`: see EngineOptions; 0 splits only what doesn't fit.
  // `artifacts` may be null.
  Batcher(const ModelConfig& config, int64_t chunk_tokens, const Artifacts* artifacts,
          Workspace* workspace);

  bool NeedsChunks(const Sequence& sequence, const HistoryPlan& plan) const;

  // Whether a whole sequence fits the step beside what it has. `cached`: its pages are not the
  // step's.
  bool Fits(const Sequence& sequence, const HistoryPlan& plan, bool cached) const;
  // Adds a piece with the whole sequence. `memory`: of each stage; where there is none, K and V
  // live for this step only.
  void AddWhole(const Sequence& sequence, const HistoryPlan& plan,
                std::span<const StageMemory> memory);
  // Sets the step to the part of a sequence that follows what is done, which moves on.
  void SetChunk(const Sequence& sequence, const HistoryPlan& plan,
                std::span<const StageMemory> memory, ChunkProgress* progress);
  // Numbers the rows of all pieces. Call before a step runs.
  void NumberRows();
  void Clear();

 private:
  bool FitsABucket(int64_t rows, bool cached) const;
  int64_t PagesOf(const HistoryPlan& plan) const;
  int64_t OwnPagesOf(const HistoryPlan& plan) const;
  Piece Begin(const Sequence& sequence, const HistoryPlan& plan) const;
  PieceStage BeginStage(const Sequence& sequence, const HistoryPlan& plan, size_t stage) const;

  const ModelConfig& config_;
  const int64_t chunk_tokens_;
  const Artifacts* const artifacts_;
  Workspace& workspace_;
  std::vector<PieceStage> stages_;  // of the piece that is being added
  int64_t rows_ = 0;
  int64_t pages_ = 0;
  int64_t own_pages_ = 0;  // with int8
  int64_t longest_ = 0;    // rows of one piece
};

}  // namespace hstu

#endif  // HSTU_ENGINE_BATCH_H_
