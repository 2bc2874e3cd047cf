// All memory that steps use: sized once, from the model and the options.
#ifndef HSTU_ENGINE_WORKSPACE_H_
#define HSTU_ENGINE_WORKSPACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "cache/kv_layout.h"
#include "compile/step_plan.h"
#include "engine/dtypes.h"
#include "engine/own_pages.h"
#include "engine/piece.h"
#include "hstu/hstu.hpp"
#include "kernels/kv_blocks.h"
#include "model/model.h"

namespace hstu {

// Up to kQueryBlock rows of one piece: the unit of attention's work, times heads.
struct AttentionBlock {
  const Piece* piece;
  const PieceStage* stage;
  int64_t row;  // of the step
  int64_t position;
  int64_t count;           // of rows that lie side by side
  int64_t candidates = 0;  // rows behind them: all candidates of the piece

  int64_t rows() const { return count + candidates; }
};

// A page that a step fills up, where K and V are kept in int8.
struct FullPage {
  const PieceStage* stage;
  int64_t position;  // of its first token
};

struct WorkspaceLimits {
  int64_t tokens = 0;      // rows of a step
  int64_t step_pages = 0;  // pages that the sequences of a step share
  bool chunks = false;     // sequences that don't fit, or shouldn't, are computed in chunks
  int64_t threads = 0;
  DType dtype = DType::kF32;  // of activations
  KvDType kv_dtype = KvDType::kF32;
  int64_t arena_bytes = 0;  // that some plan of artifacts needs for activations
};

// Rows that one task takes through a layer's linear operators at most.
inline constexpr int64_t kRowBlock = 96;
// Fewer rows a thread than this, and threads share columns instead of rows.
inline constexpr int64_t kFewRows = 24;
// Blocks of at most this many queries, times heads, that are fewer than this many a thread share
// their keys between threads.
inline constexpr int64_t kFewQueries = 16;
inline constexpr int64_t kSharedTasksPerThread = 2;

class Workspace {
 public:
  static WorkspaceLimits Limits(const ModelConfig& config, const EngineOptions& options,
                                const EngineDTypes& dtypes, int threads);
  static Result<Workspace> Make(const ModelConfig& config, const WorkspaceLimits& limits,
                                int64_t page_tokens);

  int64_t arena_bytes() const { return arena_.used(); }
  const WorkspaceLimits& limits() const { return limits_; }
  const KvPageLayout& layout() const { return layout_; }

  // A stage of a sequence whose pages begin at `page` of those that a step's sequences share.
  StageMemory StepMemory(int64_t page, int64_t first_position) const;
  // A stage of the one sequence that is computed in chunks.
  StageMemory SequenceMemory(size_t stage, int64_t first_position) const;
  // Adds a piece, with the stages that it has.
  void Add(Piece piece, std::span<const PieceStage> stages);

  // The activations of the next step lie as `plan` says, which must live until the next Use: one of
  // the artifacts', or plan(). Call before every step.
  void Use(const StepPlan& plan) { used_ = &plan; }
  const StepPlan& plan() const { return plan_; }
  // Of limits().dtype.
  std::byte* X(size_t stage) const { return activations_ + used_->x[stage]; }  // [tokens, C]
  std::byte* Uvqk(size_t stage) const {
    return activations_ + used_->uvqk[stage];
  }                        // [tokens, 4HD]
  float* logits() const {  // [tokens, tasks]
    return reinterpret_cast<float*>(activations_ + used_->logits);
  }

  float* normed = nullptr;  // [kFewRows * threads, C]
  // Parts of attention whose keys threads share: [blocks and heads, chunks, HstuAttentionPart].
  float* attention_parts = nullptr;
  int64_t attention_chunks = 0;  // of one block at most
  OwnPages own_pages;            // where K and V are kept in int8
  float* thread_scratch = nullptr;
  int64_t thread_scratch_floats = 0;
  std::vector<Piece> pieces;
  // Of the running stage: all rows, and those of candidates alone.
  std::vector<AttentionBlock> blocks;
  std::vector<AttentionBlock> candidate_blocks;
  std::vector<FullPage> full_pages;

 private:
  void Place(const ModelConfig& config, Arena* arena);

  Arena arena_;
  StepPlan plan_;  // built in
  const StepPlan* used_ = nullptr;
  std::byte* activations_ = nullptr;
  WorkspaceLimits limits_;
  KvPageLayout layout_{};
  std::byte* step_keys_ = nullptr;
  std::byte* step_values_ = nullptr;
  KvLayout sequence_layout_;  // of one user; without stages where there are no chunks
  std::byte* sequence_keys_ = nullptr;
  std::byte* sequence_values_ = nullptr;
  std::vector<float*> sequence_waiting_;   // of each stage: [window - 1, C]
  std::vector<std::byte*> sequence_open_;  // of each stage, see StageMemory
  std::vector<int32_t> identity_;          // page i lies at i
  std::vector<PieceStage> piece_stages_;   // [pieces, stages]
};

}  // namespace hstu

#endif  // HSTU_ENGINE_WORKSPACE_H_
