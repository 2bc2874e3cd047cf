// One step: pieces of sequences through all layers, and logits of their candidates.
#ifndef HSTU_ENGINE_FORWARD_H_
#define HSTU_ENGINE_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "base/trace.h"
#include "engine/forward_ranks.h"
#include "engine/workspace.h"
#include "kernels/operators.h"
#include "model/model.h"
#include "model/model_operators.h"

namespace hstu {

// What a step tells as it goes through the layers. Called on the step's own thread but for
// WroteRows.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  // K and V of this layer's new tokens are about to be written.
  virtual void BeginLayer(int64_t layer) = 0;
  // Pages of this layer are about to be read.
  virtual void BeginAttention(int64_t layer) = 0;
  // K and V of the stage's positions [position, position + count) of a piece are in their pages.
  // Called by many threads at once.
  virtual void WroteRows(int64_t layer, const Piece& piece, int64_t position, int64_t count) = 0;
  // Attention of this layer is done.
  virtual void EndLayer(int64_t layer) = 0;
};

class Forward {
 public:
  // `last_layer_all_rows`: compute rows of the last layer that no answer needs. `trace` may be
  // null, and `ranks` is where no other rank computes the same step.
  Forward(const Model& model, const ModelOperators& model_operators, bool last_layer_all_rows,
          ThreadPool* pool, Workspace* workspace, Trace* trace, ForwardRanks* ranks);

  // Computes workspace->pieces, whose rows are numbered, stage by stage, by these operators and in
  // the plan that the workspace uses. Leaves workspace->logits(), row i of the step's candidates at
  // [i, tasks], and the outputs that wait for their window where the pieces say. Allocates nothing.
  void Run(const Operators& operators, LayerObserver* observer);

 private:
  struct Rows {
    int64_t begin;
    int64_t count;
  };

  // Columns [begin, end) * 16 of a packed weight's result.
  struct Panels {
    int64_t begin;
    int64_t end;
  };

  // What a piece's windows of the running stage are made of.
  struct PoolInputs {
    ConstMatrix waiting;
    ConstActivations x;
    int64_t first;  // the first input of the first new window, counted from waiting's first row
  };

  // The layers between two attentions: the end of one and the beginning of the next.
  struct Boundary {
    int64_t finish;  // kNoLayer at the beginning of a stage
    int64_t begin;   // kNoLayer at its end
  };
  static constexpr int64_t kNoLayer = -1;

  // Parts of the rows of uvqk.
  static constexpr int64_t kU = 0;
  static constexpr int64_t kV = 1;
  static constexpr int64_t kQ = 2;
  static constexpr int64_t kK = 3;

  using AttentionBlocks = std::span<const AttentionBlock>;

  // Chunks [first, first + count) of kKeyChunk absolute positions.
  struct Chunks {
    int64_t first;
    int64_t count;
  };

  // Rows of the step that a layer's output is needed for.
  Rows OutputRows(int64_t layer) const;
  bool OnlyKeysAndValues(int64_t layer) const;

  Activations X(Rows rows) const;
  Activations Uvqk(Rows rows) const;  // [rows, 4HD]
  Activations Part(int64_t part, Rows rows) const;
  float* Scratch(int thread) const;

  void BeginStage(size_t stage);
  void ListAttentionBlocks();
  int64_t RowsTogether(const Piece& piece, int64_t position) const;
  bool ReadsKeysTogether(const Piece& piece) const;
  void BeginOwnPages();
  void Embed();
  void RunRowOperators(const std::vector<RowOperator>& operators, Rows rows) const;
  void RunStage();
  void EnterStage();
  void PoolWindows(Rows rows, int thread) const;
  PoolInputs InputsOf(const Piece& piece) const;
  void KeepWaiting(const Piece& piece) const;
  template <typename Body>
  void ForEachPiece(Rows rows, const Body& body) const;
  void RunBetween(Boundary boundary);
  void RunBetweenByRows(Boundary boundary);
  void RunBetweenByColumns(Boundary boundary);
  void BeginRows(int64_t layer, Rows rows, int thread) const;
  void NormMulRows(int64_t layer, Rows rows, int thread) const;
  void ProjectOut(int64_t layer, Rows rows, Panels panels, int thread) const;
  void NormRows(int64_t layer, Rows rows, Matrix out, int thread) const;
  void ProjectIn(int64_t layer, Rows rows, ConstMatrix normed, Panels panels, float* scratch,
                 int thread) const;
  void CacheRows(int64_t layer, Rows rows, int thread) const;
  void CloseOwnPages(int64_t layer);
  void KeepOwnPages(int64_t layer) const;
  void Attend(int64_t layer);
  OwnPage OwnPageOf(const AttentionBlock& block, int64_t layer) const;
  AttentionBlocks Blocks(int64_t layer) const;
  bool SharesKeys(AttentionBlocks blocks) const;
  void AttendInChunks(int64_t layer, AttentionBlocks blocks);
  void TraceAttention(const AttentionBlock& block, TraceScope* scope) const;
  HstuAttentionArgs AttentionArgs(int64_t layer, const AttentionBlock& block, int64_t head,
                                  int thread) const;
  void Head();

  // Where ranks share keys: forward_keys.cc.
  static Chunks ChunksOf(const AttentionBlock& block);
  int64_t SharedFloats(const AttentionBlock& block, int64_t rank) const;
  void AttendOverRanks(int64_t layer, AttentionBlocks blocks);
  void SizeSharedScratch(AttentionBlocks blocks);
  void AttendToOwnKeys(int64_t layer, AttentionBlocks blocks, size_t buffer);
  void AttendHead(const HstuAttentionArgs& args, Chunks chunks, float* to, float* scratch) const;
  void MergeParts(const float* outs, const float* lses, int64_t parts, int64_t rows, int64_t dim,
                  float* out, float* scratch) const;
  void JoinSharedKeys(int64_t layer, AttentionBlocks blocks, size_t buffer);
  void JoinHead(const HstuAttentionArgs& args, Chunks chunks, std::vector<const float*> from,
                float* scratch) const;
  void CacheOwnRows(int64_t layer, const PieceStage& stage, int64_t position,
                    const Rows& rows) const;
  bool SharesKeysWithRanks() const { return ranks_ != nullptr && ranks_->keys != nullptr; }

  // Where ranks share heads: forward_heads.cc.
  void RunBetweenOverHeads(Boundary boundary);
  template <typename Body>
  void ForRowTasks(Rows rows, const Body& body) const;
  void GatherMoments(Rows rows);
  void SumOwnHeads(int64_t layer, Rows rows, ExchangedPart* part);
  void JoinHeads(Boundary boundary, Rows rows, const ExchangedPart& part);

  const Model& model_;
  const ModelConfig& config_;
  const ModelOperators& model_operators_;
  const bool last_layer_all_rows_;
  ThreadPool& pool_;
  Workspace& workspace_;
  Trace* const trace_;
  ForwardRanks* const ranks_;
  const DType dtype_;  // of activations
  const bool int8_;    // K and V are kept in int8
  // Of the running step.
  const Operators* operators_ = nullptr;
  LayerObserver* observer_ = nullptr;
  int64_t candidate_rows_ = 0;
  // Of the running stage.
  size_t stage_ = 0;
  int64_t first_layer_ = 0;
  int64_t rows_ = 0;
  std::byte* x_ = nullptr;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_FORWARD_H_
