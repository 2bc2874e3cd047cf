// The fused code of operator embed_tokens. Compiled once per target, and by artifacts (src/compile)
// with a model's sizes as constants.
#if defined(HSTU_KERNELS_EMBED_TOKENS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_EMBED_TOKENS_INL_H_
#undef HSTU_KERNELS_EMBED_TOKENS_INL_H_
#else
#define HSTU_KERNELS_EMBED_TOKENS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/embed_tokens.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// One row of a table, by vectors.
struct TableRow {
  const std::byte* data;
  DType dtype;

  HWY_INLINE Floats Load(int64_t column) const {
    if (dtype == DType::kF32) {
      return hn::LoadU(FloatTag(), reinterpret_cast<const float*>(data) + column);
    }
    const auto bits = hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(data) + column);
    return dtype == DType::kBF16 ? FloatsFromBF16(bits) : FloatsFromF16(bits);
  }
  HWY_INLINE float At(int64_t column) const {
    return LoadFloat(dtype, data + column * static_cast<int64_t>(SizeOf(dtype)));
  }
};

HWY_INLINE TableRow RowOf(const RowTable& table, int64_t row, int64_t columns) {
  return {table.data + row * columns * static_cast<int64_t>(SizeOf(table.dtype)), table.dtype};
}

HWY_INLINE TableRow TokenRow(const EmbedTokensArgs& args, int64_t token) {
  const int64_t columns = args.out.cols;
  if (token >= args.history_tokens) {
    return RowOf(args.item_table, args.candidates[token - args.history_tokens], columns);
  }
  if (token < args.num_context) {
    return RowOf(args.contextual_tables[token], args.contextual[token], columns);
  }
  const int64_t index = token - args.num_context;
  if (args.action_table.data == nullptr) {
    return RowOf(args.item_table, args.items[index - args.first_item], columns);
  }
  const int64_t item = index / 2 - args.first_item;
  return index % 2 == 0 ? RowOf(args.item_table, args.items[item], columns)
                        : RowOf(args.action_table, args.actions[item], columns);
}

template <class T>
HWY_INLINE void EmbedRows(const EmbedTokensArgs& args) {
  const FloatTag d;
  const int64_t columns = args.out.cols;
  const int64_t last_position = std::min(args.history_tokens, args.num_positions - 1);
  for (int64_t i = 0; i < args.out.rows; ++i) {
    const int64_t token = args.first_token + i;
    const TableRow row = TokenRow(args, token);
    const TableRow position = RowOf(args.position_table, std::min(token, last_position), columns);
    T* out = args.out.RowAs<T>(i);
    int64_t column = 0;
    for (; column + kLanes <= columns; column += kLanes) {
      const Floats scaled = hn::Mul(row.Load(column), hn::Set(d, args.scale));
      Store(hn::Add(scaled, position.Load(column)), out + column, All());
    }
    for (; column < columns; ++column) {
      args.out.Set(i, column, row.At(column) * args.scale + position.At(column));
    }
  }
}

HWY_INLINE void EmbedTokensBody(const EmbedTokensArgs& args) {
  WithElement(args.out.dtype, [&](auto element) HWY_ATTR { EmbedRows<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_EMBED_TOKENS_INL_H_
