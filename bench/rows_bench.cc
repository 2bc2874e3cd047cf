// Operators that go over rows once, and so are bound by the cache or the memory that holds them.
#include <vector>

#include "bench/operator_case.h"
#include "kernels/embed_tokens.h"
#include "kernels/l2_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/norm_mul.h"
#include "kernels/pool_windows.h"

namespace hstu {
namespace {

constexpr int64_t kHidden = 512;

// The rows lie in the last cache, as in a step, where another operator has just written them.
void Report(benchmark::State& state, const Work& work, const std::function<void()>& body) {
  const int64_t bytes = LastCacheBytes() / 4;
  ReadBuffer buffer(bytes, bytes);
  ReportReads(state, work, &buffer, body);
}

// `passes` matrices [rows, kHidden] are read or written, and flops done on each element.
Work RowsWork(int64_t rows, int passes, double flops) {
  const auto elements = static_cast<double>(rows * kHidden);
  return {flops * elements, 4.0 * passes * elements};
}

void BM_LayerNorm(benchmark::State& state) {
  const int64_t m = state.range(0);
  const Buffer x = RandomMatrix(m, kHidden, 1.0f);
  const Buffer out = RandomMatrix(m, kHidden, 1.0f);
  const Buffer weight = RandomMatrix(2, kHidden, 1.0f);
  auto* op = LayerNormFor(BestIsa());
  Report(state, RowsWork(m, 2, 8.0), [&] {
    ForRowBlocks(m, [&](int64_t row, int64_t rows, int) {
      op({x.view.Rows(row, rows), weight.view.Row(0), weight.view.Row(1), 1e-5f,
          out.view.Rows(row, rows)});
    });
  });
}
BENCHMARK(BM_LayerNorm)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_NormMul(benchmark::State& state) {
  const int64_t m = state.range(0);
  const Buffer x = RandomMatrix(m, kHidden, 1.0f);
  const Buffer gate = RandomMatrix(m, kHidden, 1.0f);
  const Buffer out = RandomMatrix(m, kHidden, 1.0f);
  const Buffer weight = RandomMatrix(2, kHidden, 1.0f);
  auto* op = NormMulFor(BestIsa());
  Report(state, RowsWork(m, 3, 9.0), [&] {
    ForRowBlocks(m, [&](int64_t row, int64_t rows, int) {
      op({x.view.Rows(row, rows), gate.view.Rows(row, rows), weight.view.Row(0), weight.view.Row(1),
          1e-5f, out.view.Rows(row, rows)});
    });
  });
}
BENCHMARK(BM_NormMul)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_L2Norm(benchmark::State& state) {
  const int64_t m = state.range(0);
  const Buffer x = RandomMatrix(m, kHidden, 1.0f);
  const Buffer out = RandomMatrix(m, kHidden, 1.0f);
  auto* op = L2NormFor(BestIsa());
  Report(state, RowsWork(m, 2, 3.0), [&] {
    ForRowBlocks(m, [&](int64_t row, int64_t rows, int) {
      op({x.view.Rows(row, rows), out.view.Rows(row, rows)});
    });
  });
}
BENCHMARK(BM_L2Norm)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_PoolWindows(benchmark::State& state) {
  constexpr int64_t kWindow = 4;
  const int64_t windows = state.range(0) / kWindow;
  const Buffer x = RandomMatrix(windows * kWindow, kHidden, 1.0f);
  const Buffer out = RandomMatrix(windows, kHidden, 1.0f);
  auto* op = PoolWindowsFor(BestIsa());
  const auto elements = static_cast<double>(windows * kHidden);
  Report(state, {kWindow * elements, 4.0 * (kWindow + 1) * elements}, [&] {
    ForRowBlocks(windows, [&](int64_t row, int64_t rows, int) {
      op({{kWindow, kWindow}, {}, x.view, row * kWindow, out.view.Rows(row, rows)});
    });
  });
}
BENCHMARK(BM_PoolWindows)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_EmbedTokens(benchmark::State& state) {
  constexpr int64_t kTableRows = 100000;
  const int64_t m = state.range(0);
  const Buffer table = RandomMatrix(kTableRows, kHidden, 1.0f);
  const Buffer positions = RandomMatrix(m, kHidden, 1.0f);
  const Buffer out = RandomMatrix(m, kHidden, 1.0f);
  std::vector<int64_t> items(static_cast<std::size_t>(m));
  for (int64_t i = 0; i < m; ++i) items[static_cast<std::size_t>(i)] = i * 7919 % kTableRows;
  EmbedTokensArgs args = {};
  args.item_table.data = reinterpret_cast<const std::byte*>(table.data.get());
  args.position_table.data = reinterpret_cast<const std::byte*>(positions.data.get());
  args.history_tokens = m;
  args.items = items;
  args.num_positions = m;
  args.scale = 22.6f;
  auto* op = EmbedTokensFor(BestIsa());
  Report(state, RowsWork(m, 3, 2.0), [&] {
    ForRowBlocks(m, [&](int64_t row, int64_t rows, int) {
      EmbedTokensArgs block = args;
      block.first_token = row;
      block.out = out.view.Rows(row, rows);
      op(block);
    });
  });
}
BENCHMARK(BM_EmbedTokens)->Arg(4096)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace hstu
