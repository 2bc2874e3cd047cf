// Each operator alone, as a fraction of the FMA peak of the same run.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "bench/ratio.h"
#include "kernels/gemm.h"
#include "kernels/hstu_attention.h"
#include "kernels/in_linear_silu.h"
#include "kernels/linear_residual.h"
#include "kernels/reshape_and_cache.h"

namespace hstu {
namespace {

ThreadPool& Pool() {
  static ThreadPool pool(AvailableProcessors());
  return pool;
}

const Isa kIsa = SupportedIsas().back();

struct Buffer {
  AlignedArray<float> data;
  Matrix view;
};

Buffer RandomMatrix(int64_t rows, int64_t cols, float scale) {
  Buffer buffer{AllocateAligned<float>(rows * cols), {}};
  buffer.view = {buffer.data.get(), rows, cols, cols};
  std::mt19937 generator(static_cast<unsigned>(rows * 31 + cols));
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (int64_t i = 0; i < rows * cols; ++i) buffer.data[i] = uniform(generator);
  return buffer;
}

// Runs the measurement once and reports it as counters.
template <typename Body>
void Report(benchmark::State& state, double flops, int repeats, const Body& body) {
  for (auto _ : state) {
    const RatioResult result = MeasureRatio(&Pool(), kIsa, flops, repeats, body);
    state.SetIterationTime(result.median_seconds);
    state.counters["of_peak"] = result.median_of_peak;
    state.counters["of_peak_p90"] = result.p90_of_peak;
    state.counters["of_peak_cpu"] = result.processor_of_peak;
    state.counters["peak_gflops"] = result.peak_flops / 1e9;
    state.counters["samples"] = result.samples;
  }
}

void BM_InLinearSilu(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const int64_t k = state.range(1);
  const int64_t n = state.range(2);
  const Buffer x = RandomMatrix(rows, k, 1.0f);
  const Buffer w = RandomMatrix(n, k, 0.05f);
  const Buffer bias = RandomMatrix(1, n, 0.1f);
  Buffer out = RandomMatrix(rows, n, 1.0f);
  const PackedMatrix packed(reinterpret_cast<const std::byte*>(w.data.get()), DType::kF32, n, k);
  const auto scratch = AllocateAligned<float>(GemmScratch(k) * Pool().threads());
  auto* op = InLinearSiluFor(kIsa);
  const int64_t block = GemmBlockRows(k);
  Report(state, 2.0 * rows * n * k, 31, [&] {
    Pool().Run(CeilDiv(rows, block), [&](int64_t task, int thread) {
      const int64_t begin = task * block;
      const int64_t count = std::min(block, rows - begin);
      op({x.view.Rows(begin, count), &packed, bias.data.get(), out.view.Rows(begin, count), 0,
          packed.panels(), scratch.get() + thread * GemmScratch(k)});
    });
  });
}
BENCHMARK(BM_InLinearSilu)
    ->Args({4096, 512, 2048})
    ->Args({512, 512, 2048})
    ->Iterations(1)
    ->UseManualTime();

struct AttentionCase {
  KvPageLayout layout;
  std::vector<int32_t> table;
  AlignedArray<std::byte> keys, values;
  KvBlocks blocks;
};

AttentionCase MakeHistory(int64_t tokens, int64_t heads, int64_t dim, int64_t page_tokens) {
  AttentionCase c;
  c.layout = {heads, dim, page_tokens};
  const int64_t pages = CeilDiv(tokens, page_tokens);
  for (int64_t i = 0; i < pages; ++i) c.table.push_back(static_cast<int32_t>(i));
  c.keys = AllocateAligned<std::byte>(pages * c.layout.KeyPageBytes());
  c.values = AllocateAligned<std::byte>(pages * c.layout.ValuePageBytes());
  c.blocks = {c.keys.get(), c.values.get(), c.table.data(), 0};
  const Buffer k = RandomMatrix(tokens, heads * dim, 0.5f);
  const Buffer v = RandomMatrix(tokens, heads * dim + 1, 0.5f);
  ReshapeAndCacheFor(kIsa)({k.view, v.view.Cols(0, heads * dim), 0, c.layout, c.blocks});
  return c;
}

// tokens in all, of which the last `candidates` see the others and themselves; `from` is the first
// row that is computed.
void Attention(benchmark::State& state, int64_t tokens, int64_t candidates, int64_t from,
               AttentionKind kind) {
  constexpr int64_t kHeads = 4;
  constexpr int64_t kDim = 128;
  const int64_t history = tokens - candidates;
  const AttentionCase c = MakeHistory(history, kHeads, kDim, 32);
  const Buffer group = RandomMatrix(candidates + 1, kHeads * kDim, 0.5f);
  const int64_t rows = tokens - from;
  Buffer q = RandomMatrix(rows, kHeads * kDim, 0.5f);
  Buffer out = RandomMatrix(rows, kHeads * kDim, 0.5f);
  const auto scratch = AllocateAligned<float>(HstuAttentionScratch(kDim) * Pool().threads());
  AttentionMask mask;
  mask.history_end = history;
  double pairs = 0.0;
  for (int64_t row = from; row < tokens; ++row) {
    const KeyInterval seen = mask.History(row);
    pairs += static_cast<double>(seen.end - seen.begin + (row >= history ? 1 : 0));
  }
  auto* op = HstuAttentionFor(kIsa);
  const int64_t blocks = CeilDiv(rows, kQueryBlock);
  Report(state, pairs * kHeads * kDim * 4.0, 31, [&] {
    Pool().Run(blocks * kHeads, [&](int64_t task, int thread) {
      const int64_t head = task % kHeads;
      const int64_t begin = (blocks - 1 - task / kHeads) * kQueryBlock;
      const int64_t count = std::min(kQueryBlock, rows - begin);
      const ConstMatrix own = group.view.Cols(head * kDim, kDim);
      op({kind, 4096.0f, c.layout, c.blocks, mask, head, from + begin,
          q.view.Rows(begin, count).Cols(head * kDim, kDim),
          out.view.Rows(begin, count).Cols(head * kDim, kDim), own, own,
          scratch.get() + thread * HstuAttentionScratch(kDim)});
    });
  });
}

void BM_SiluAttention(benchmark::State& state) {
  Attention(state, state.range(0), 0, 0, AttentionKind::kSilu);
}
BENCHMARK(BM_SiluAttention)->Arg(512)->Arg(2048)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_SoftmaxAttention(benchmark::State& state) {
  Attention(state, state.range(0), 0, 0, AttentionKind::kSoftmax);
}
BENCHMARK(BM_SoftmaxAttention)->Arg(2048)->Iterations(1)->UseManualTime();

void BM_CandidatesOnHistory(benchmark::State& state) {
  const int64_t candidates = state.range(0);
  const int64_t history = state.range(1);
  Attention(state, history + candidates, candidates, history, AttentionKind::kSilu);
}
BENCHMARK(BM_CandidatesOnHistory)
    ->Args({256, 4096})
    ->Args({16, 4096})
    ->Args({1, 4096})
    ->Args({64, 64})
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace hstu

BENCHMARK_MAIN();
