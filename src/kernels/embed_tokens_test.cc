#include "kernels/embed_tokens.h"

#include "kernels/testing.h"

namespace hstu {
namespace {

class EmbedTokens : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(EmbedTokens);

// A table at an odd address, as safetensors allow.
struct Table {
  Table(int64_t rows, int64_t columns, DType dtype, unsigned seed)
      : bytes(rows * columns * SizeOf(dtype) + 1), dtype(dtype) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows * columns; ++i) {
      StoreFloat(dtype, normal(generator), bytes.data() + 1 + i * SizeOf(dtype));
    }
  }
  RowTable view() const { return {bytes.data() + 1, dtype}; }

  std::vector<std::byte> bytes;
  DType dtype;
};

void ExpectFusedIsPlain(Isa isa, int64_t columns, DType dtype, bool actions) {
  const Table items(50, columns, dtype, 1);
  const Table action_rows(9, columns, dtype, 2);
  const Table context(5, columns, DType::kF32, 3);
  const Table positions(8, columns, dtype, 4);
  const std::vector<RowTable> contextual_tables = {context.view(), context.view()};
  const std::vector<int64_t> contextual = {4, 0};
  const std::vector<int64_t> item_ids = {7, 49, 0, 3};
  const std::vector<int64_t> action_ids = {8, 0, 2, 2};
  const std::vector<int64_t> candidates = {11, 12, 13};
  EmbedTokensArgs args{};
  args.contextual_tables = contextual_tables;
  args.contextual = contextual.data();
  args.num_context = 2;
  args.item_table = items.view();
  args.items = item_ids;
  args.candidates = candidates;
  args.position_table = positions.view();
  args.num_positions = 8;
  args.scale = 8.0f;
  if (actions) {
    args.action_table = action_rows.view();
    args.actions = action_ids;
  }
  args.history_tokens = 2 + 4 * (actions ? 2 : 1);
  const int64_t tokens = args.history_tokens + 3;
  for (const int64_t begin : {int64_t{0}, int64_t{3}, tokens - 1}) {
    args.first_token = begin;
    TestMatrix actual(tokens - begin, columns, 5);
    TestMatrix expected(tokens - begin, columns, 6);
    args.out = expected.view();
    EmbedTokensPlain(args);
    args.out = actual.view();
    EmbedTokensFor(isa)(args);
    ExpectSameBits(actual.view(), expected.view());
    actual.ExpectGapsUntouched();
    if (begin < 4) continue;
    // A later part of the history, given without what came before, is the same.
    args.first_item = 3;
    args.items = std::span(item_ids).subspan(3);
    args.actions = std::span(action_ids).subspan(actions ? 3 : 4);
    EmbedTokensFor(isa)(args);
    ExpectSameBits(actual.view(), expected.view());
    EmbedTokensPlain(args);
    ExpectSameBits(actual.view(), expected.view());
  }
}

TEST_P(EmbedTokens, GivesTheReferencesBitsForOddSizesAndEveryType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t columns : {1, 7, 16, 44, 65}) {
      ExpectFusedIsPlain(GetParam(), columns, dtype, false);
      ExpectFusedIsPlain(GetParam(), columns, dtype, true);
    }
  }
}

}  // namespace
}  // namespace hstu
