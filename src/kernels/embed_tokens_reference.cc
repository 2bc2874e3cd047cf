// The scalar reference of embed_tokens: parts looked up apart, joined, scaled, positions added.
#include <algorithm>
#include <vector>

#include "kernels/concat_nd_jagged.h"
#include "kernels/embed_tokens.h"

namespace hstu {
namespace {

// One sequence, owned.
struct Part {
  std::vector<float> values;
  std::vector<int64_t> offsets{0, 0};
  int64_t columns;

  explicit Part(int64_t columns) : columns(columns) {}

  void Append(const RowTable& table, int64_t row) {
    const auto row_bytes = columns * static_cast<int64_t>(SizeOf(table.dtype));
    values.resize(values.size() + columns);
    LoadFloats(table.dtype, table.data + row * row_bytes, columns,
               values.data() + values.size() - columns);
    ++offsets[1];
  }
  JaggedView<const float> view() const {
    return {{values.data(), offsets[1], columns, columns}, offsets};
  }
};

Part LookUpHistory(const EmbedTokensArgs& args) {
  Part history(args.out.cols);
  for (size_t i = 0; i < args.items.size(); ++i) {
    history.Append(args.item_table, args.items[i]);
    if (args.action_table.data != nullptr) history.Append(args.action_table, args.actions[i]);
  }
  return history;
}

}  // namespace

void EmbedTokensPlain(const EmbedTokensArgs& args) {
  const int64_t columns = args.out.cols;
  Part context(columns);
  if (args.first_token < args.num_context) {
    for (int64_t i = 0; i < args.num_context; ++i) {
      context.Append(args.contextual_tables[i], args.contextual[i]);
    }
  }
  const Part history = LookUpHistory(args);
  Part candidates(columns);
  for (const int64_t candidate : args.candidates) candidates.Append(args.item_table, candidate);

  const JaggedView<const float> parts[] = {context.view(), history.view(), candidates.view()};
  Part all(columns);
  all.offsets = ConcatNdJaggedOffsets(parts).value();
  all.values.resize(all.offsets[1] * columns);
  const Matrix tokens{all.values.data(), all.offsets[1], columns, columns};
  if (!ConcatNdJagged(parts, {tokens, all.offsets}).ok()) return;  // can't be: the offsets are its

  // The parts' first token's place in the sequence.
  const int64_t per_item = args.action_table.data != nullptr ? 2 : 1;
  const int64_t first = context.offsets[1] > 0 ? 0 : args.num_context + args.first_item * per_item;
  const int64_t last_position = std::min(args.history_tokens, args.num_positions - 1);
  const auto element = static_cast<int64_t>(SizeOf(args.position_table.dtype));
  for (int64_t i = 0; i < args.out.rows; ++i) {
    const int64_t token = args.first_token + i;
    const std::byte* position =
        args.position_table.data + std::min(token, last_position) * columns * element;
    for (int64_t c = 0; c < columns; ++c) {
      args.out.Set(i, c,
                   tokens.Row(token - first)[c] * args.scale +
                       LoadFloat(args.position_table.dtype, position + c * element));
    }
  }
}

}  // namespace hstu
