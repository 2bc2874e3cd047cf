// Splitting requests into steps that fit the workspace.
#ifndef HSTU_ENGINE_BATCH_H_
#define HSTU_ENGINE_BATCH_H_

#include <cstdint>

#include "engine/workspace.h"
#include "model/user_tokens.h"

namespace hstu {

// A request that passed all checks.
struct Sequence {
  int64_t request;  // index of its answer
  UserTokens tokens;
  int64_t skip;  // history tokens dropped at the front; positions go on counting

  int64_t history_end() const { return tokens.history_tokens(); }
  int64_t num_candidates() const { return static_cast<int64_t>(tokens.candidates.size()); }
  int64_t rows() const { return history_end() - skip + num_candidates(); }
};

// How far a sequence that is computed in chunks has come.
struct ChunkProgress {
  int64_t history;     // the next position to compute
  int64_t candidates;  // scored
};

class Batcher {
 public:
  // `chunk_tokens`: see EngineOptions; 0 splits only what doesn't fit.
  Batcher(const ModelConfig& config, int64_t chunk_tokens, Workspace* workspace);

  bool NeedsChunks(const Sequence& sequence) const;
  // Adds a piece with the whole sequence to workspace->pieces; false if the step is full.
  bool AddWhole(const Sequence& sequence);
  // Sets workspace->pieces to the part of a sequence that follows what is done, which moves on.
  void SetChunk(const Sequence& sequence, ChunkProgress* progress);
  // Numbers the rows of all pieces. Call before a step runs.
  void NumberRows();
  void Clear();

 private:
  AttentionMask MaskOf(const Sequence& sequence, int64_t history_end) const;

  const ModelConfig& config_;
  const int64_t chunk_tokens_;
  Workspace& workspace_;
  int64_t rows_ = 0;
  int64_t pages_ = 0;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_BATCH_H_
