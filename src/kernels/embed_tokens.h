// Operator embed_tokens: rows of embedding tables, interleaved to a user's tokens, scaled and with
// their positions added, in one pass.
#ifndef HSTU_KERNELS_EMBED_TOKENS_H_
#define HSTU_KERNELS_EMBED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace hstu {

// [rows, C] in a mapped file, with any alignment.
struct RowTable {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
};

// Token t of a sequence of n history tokens (contextual ones included) and m candidates:
//   [contextual ...] [item action item action ...] [candidate ...], or without the actions.
// out row = table row * scale + position row min(t, n, num_positions - 1).
struct EmbedTokensArgs {
  std::span<const RowTable> contextual_tables;  // one a contextual feature
  const int64_t* contextual;                    // [contextual_tables.size()] rows; see num_context
  int64_t num_context;                          // contextual tokens: all tables', or 0
  RowTable item_table;
  RowTable action_table;   // without data: items alone
  int64_t history_tokens;  // n
  int64_t first_item;  // of the user's items, the one that items[0] is; earlier ones aren't read
  std::span<const int64_t> items;
  std::span<const int64_t> actions;  // as many, or none
  std::span<const int64_t> candidates;
  RowTable position_table;
  int64_t num_positions;
  float scale;
  int64_t first_token;  // of row 0 of out
  Activations out;      // [tokens, C]
};

using EmbedTokensFn = void(const EmbedTokensArgs&);
EmbedTokensFn* EmbedTokensFor(Isa isa);
// The scalar reference: looks up parts apart, joins them with concat_nd_jagged, then scales and
// adds positions. Allocates.
void EmbedTokensPlain(const EmbedTokensArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_EMBED_TOKENS_H_
