// What one step computes of one sequence.
#ifndef HSTU_ENGINE_PIECE_H_
#define HSTU_ENGINE_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cache/kv_layout.h"
#include "kernels/attention_mask.h"
#include "kernels/kv_blocks.h"
#include "model/user_tokens.h"

namespace hstu {

// Where what a sequence keeps of one stage lies.
struct StageMemory {
  KvBlocks first_layer;            // pages of K and V
  int64_t key_layer_stride = 0;    // bytes; 0: all layers share the pages, one after the other
  int64_t value_layer_stride = 0;  // bytes
  // [window - 1, C]: outputs of the stage before that wait for the rest of their window. Null where
  // none come from an earlier step and none are kept for a later one.
  float* waiting = nullptr;
  // With int8: the f32 page that still fills up, OpenPageBytes a layer. Null where nothing comes
  // from an earlier step and nothing is kept for a later one.
  std::byte* open = nullptr;

  // `layer` counts from the first of the stage.
  KvBlocks Layer(int64_t layer) const {
    KvBlocks blocks = first_layer;
    blocks.keys += layer * key_layer_stride;
    blocks.values += layer * value_layer_stride;
    return blocks;
  }
};

// The memory of a stage in a pool whose K and V begin at `keys` and `values`. `table`: pages of the
// positions from `first` on.
inline StageMemory PoolMemory(const KvLayout& layout, size_t stage, std::byte* keys,
                              std::byte* values, const int32_t* table, int64_t first,
                              float* waiting, std::byte* open) {
  const KvStageLayout& part = layout.stages[stage];
  return {{keys + layout.key_offsets[part.first_layer],
           values + layout.value_offsets[part.first_layer], table, first / layout.page.page_tokens},
          part.pages * layout.page.KeyPageBytes(),
          part.pages * layout.page.ValuePageBytes(),
          waiting,
          open};
}

// One stage of a piece. Positions are the stage's own.
struct PieceStage {
  AttentionMask mask;         // history_end counts the history that this step knows
  int64_t history_first = 0;  // position of the first history token to compute
  int64_t history_count = 0;
  int64_t history_row = 0;  // of the step, in this stage
  StageMemory memory;
  int64_t own_page = 0;  // with int8: its first f32 page of the step
};

struct Piece {
  const UserTokens* user = nullptr;
  int64_t num_context = 0;      // contextual tokens at the front of the sequence
  int64_t first_item = 0;       // of the sequence, the one that user->items begins with
  int64_t total_history = 0;    // tokens of the whole history: the position of all candidates
  int64_t candidate_first = 0;  // index of the first candidate to score, a multiple of the group
  int64_t candidate_count = 0;
  // Rows of the step: all pieces' candidates first, then all pieces' history, which gets shorter
  // from stage to stage.
  int64_t candidate_row = 0;
  std::span<PieceStage> stages;  // in the workspace
};

}  // namespace hstu

#endif  // HSTU_ENGINE_PIECE_H_
