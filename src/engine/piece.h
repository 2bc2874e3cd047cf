// What one step computes of one sequence.
#ifndef HSTU_ENGINE_PIECE_H_
#define HSTU_ENGINE_PIECE_H_

#include <cstdint>

#include "kernels/attention_mask.h"
#include "kernels/kv_blocks.h"
#include "model/user_tokens.h"

namespace hstu {

// Pages of a sequence's K and V in all layers.
struct PieceKv {
  KvBlocks first_layer;
  int64_t key_layer_stride = 0;    // floats; 0: all layers share the pages, one after the other
  int64_t value_layer_stride = 0;  // floats

  KvBlocks Layer(int64_t layer) const {
    KvBlocks blocks = first_layer;
    blocks.keys += layer * key_layer_stride;
    blocks.values += layer * value_layer_stride;
    return blocks;
  }
};

struct Piece {
  const UserTokens* user = nullptr;
  AttentionMask mask;         // history_end counts the history that this step knows
  int64_t num_context = 0;    // contextual tokens at the front of the sequence
  int64_t first_item = 0;     // of the sequence, the one that user->items begins with
  int64_t total_history = 0;  // tokens of the whole history: the position of all candidates
  int64_t history_first = 0;  // position of the first history token to compute
  int64_t history_count = 0;
  int64_t candidate_first = 0;  // index of the first candidate to score, a multiple of the group
  int64_t candidate_count = 0;
  PieceKv kv;
  // Rows of the step: all pieces' history first, then all pieces' candidates.
  int64_t history_row = 0;
  int64_t candidate_row = 0;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_PIECE_H_
