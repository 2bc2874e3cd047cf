// Attention over a history in pages: all of its rows, or candidates only.
#include <vector>

#include "bench/operator_case.h"
#include "kernels/hstu_attention.h"
#include "kernels/reshape_and_cache.h"

namespace hstu {
namespace {

constexpr int64_t kHeads = 4;
constexpr int64_t kDim = 128;
constexpr int64_t kPageTokens = 32;
// With fewer rows than a block threads share a head's keys too.
constexpr int64_t kBlockRows = QueryBlockRows(KvDType::kF32);

struct History {
  KvPageLayout layout{kHeads, kDim, kPageTokens};
  std::vector<int32_t> table;
  AlignedArray<std::byte> keys, values;
  KvBlocks blocks;
};

History MakeHistory(int64_t tokens) {
  History h;
  const int64_t pages = CeilDiv(tokens, kPageTokens);
  for (int64_t i = 0; i < pages; ++i) h.table.push_back(static_cast<int32_t>(i));
  h.keys = AllocateAligned<std::byte>(pages * h.layout.KeyPageBytes());
  h.values = AllocateAligned<std::byte>(pages * h.layout.ValuePageBytes());
  h.blocks = {h.keys.get(), h.values.get(), h.table.data(), 0};
  const Buffer k = RandomMatrix(tokens, kHeads * kDim, 0.5f);
  const Buffer v = RandomMatrix(tokens, kHeads * kDim + 1, 0.5f);
  ReshapeAndCacheFor(BestIsa())({k.view, v.view.Cols(0, kHeads * kDim), 0, h.layout, h.blocks});
  return h;
}

// The rows [from, tokens) of a sequence, of which the last `candidates` are candidates.
class Rows {
 public:
  Rows(int64_t tokens, int64_t candidates, int64_t from, AttentionKind kind)
      : kind_(kind),
        history_(tokens - candidates),
        from_(from),
        rows_(tokens - from),
        group_(RandomMatrix(candidates + 1, kHeads * kDim, 0.5f)),
        q_(RandomMatrix(rows_, kHeads * kDim, 0.5f)),
        out_(RandomMatrix(rows_, kHeads * kDim, 0.5f)),
        scratch_(AllocateAligned<float>(HstuAttentionScratch(kDim) * Pool().threads())),
        parts_(AllocateAligned<float>(kHeads * PartsOfHead())) {
    mask_.history_end = history_;
  }

  // K and V are read once, of the keys that a row sees.
  Work work() const {
    double pairs = 0.0;
    for (int64_t row = from_; row < from_ + rows_; ++row) {
      const KeyInterval seen = mask_.History(row);
      pairs += static_cast<double>(seen.end - seen.begin + (row >= history_ ? 1 : 0));
    }
    const auto floats = static_cast<double>(2 * history_ + 2 * rows_) * kHeads * kDim;
    return {pairs * kHeads * kDim * 4.0, 4.0 * floats};
  }

  void Run(const History& history) const {
    if (rows_ < kBlockRows) {
      RunChunks(history);
    } else {
      RunBlocks(history);
    }
  }

 private:
  int64_t Chunks() const { return CeilDiv(history_, kKeyChunk) + 1; }
  int64_t PartsOfHead() const { return Chunks() * HstuAttentionPart(kQueryBlock, kDim); }

  HstuAttentionArgs Args(const History& history, int64_t head, int64_t begin, int64_t count,
                         int thread) const {
    const ConstMatrix own = group_.view.Cols(head * kDim, kDim);
    return {kind_,
            4096.0f,
            history.layout,
            history.blocks,
            mask_,
            head,
            from_ + begin,
            q_.view.Rows(begin, count).Cols(head * kDim, kDim),
            out_.view.Rows(begin, count).Cols(head * kDim, kDim),
            own,
            own,
            scratch_.get() + thread * HstuAttentionScratch(kDim)};
  }

  void RunBlocks(const History& history) const {
    auto* op = HstuAttentionFor(BestIsa());
    const int64_t blocks = CeilDiv(rows_, kBlockRows);
    Pool().Run(blocks * kHeads, [&](int64_t task, int thread) {
      const int64_t begin = (blocks - 1 - task / kHeads) * kBlockRows;  // the longest first
      op(Args(history, task % kHeads, begin, std::min(kBlockRows, rows_ - begin), thread));
    });
  }

  void RunChunks(const History& history) const {
    auto* chunk = HstuAttentionChunkFor(BestIsa());
    auto* join = HstuAttentionJoinFor(BestIsa());
    const int64_t chunks = CeilDiv(history_, kKeyChunk);
    Pool().Run(kHeads * chunks, [&](int64_t task, int thread) {
      const int64_t head = task / chunks;
      float* parts = parts_.get() + head * PartsOfHead();
      chunk(Args(history, head, 0, rows_, thread), task % chunks,
            parts + task % chunks * HstuAttentionPart(rows_, kDim));
    });
    Pool().Run(kHeads, [&](int64_t head, int thread) {
      join(Args(history, head, 0, rows_, thread), chunks, parts_.get() + head * PartsOfHead());
    });
  }

  AttentionKind kind_;
  int64_t history_, from_, rows_;
  AttentionMask mask_;
  Buffer group_, q_, out_;
  AlignedArray<float> scratch_, parts_;
};

void BM_SiluAttention(benchmark::State& state) {
  const History history = MakeHistory(state.range(0));
  const Rows rows(state.range(0), 0, 0, AttentionKind::kSilu);
  ReportFlops(state, rows.work(), [&] { rows.Run(history); });
}
BENCHMARK(BM_SiluAttention)->Arg(512)->Arg(2048)->Arg(4096)->Iterations(1)->UseManualTime();

void BM_SoftmaxAttention(benchmark::State& state) {
  const History history = MakeHistory(state.range(0));
  const Rows rows(state.range(0), 0, 0, AttentionKind::kSoftmax);
  ReportFlops(state, rows.work(), [&] { rows.Run(history); });
}
BENCHMARK(BM_SoftmaxAttention)->Arg(2048)->Iterations(1)->UseManualTime();

// Candidates on a history that is cached.
void BM_Decode(benchmark::State& state) {
  const int64_t candidates = state.range(0);
  const int64_t tokens = state.range(1);
  const History history = MakeHistory(tokens);
  const Rows rows(tokens + candidates, candidates, tokens, AttentionKind::kSilu);
  ReportFlops(state, rows.work(), [&] { rows.Run(history); });
}
BENCHMARK(BM_Decode)
    ->Args({256, 4096})
    ->Args({16, 4096})
    ->Args({64, 64})
    ->Iterations(1)
    ->UseManualTime();

// One candidate, each time on another history, of as many as are past twice the last cache.
void BM_DecodeFromMemory(benchmark::State& state) {
  const int64_t candidates = state.range(0);
  const int64_t tokens = state.range(1);
  const Rows rows(tokens + candidates, candidates, tokens, AttentionKind::kSilu);
  const auto bytes = static_cast<int64_t>(rows.work().bytes);
  std::vector<History> histories(2 * LastCacheBytes() / bytes + 2);
  for (History& history : histories) history = MakeHistory(tokens);
  ReadBuffer buffer(4 * LastCacheBytes(), int64_t{16} << 20);
  std::size_t next = 0;
  ReportReads(state, rows.work(), &buffer, [&] {
    rows.Run(histories[next]);
    next = (next + 1) % histories.size();
  });
}
BENCHMARK(BM_DecodeFromMemory)->Args({1, 4096})->Iterations(1)->UseManualTime();

void BM_ReshapeAndCache(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const History history = MakeHistory(tokens);
  const Buffer k = RandomMatrix(tokens, kHeads * kDim, 0.5f);
  auto* op = ReshapeAndCacheFor(BestIsa());
  ReadBuffer buffer(LastCacheBytes() / 4, LastCacheBytes() / 4);
  const auto floats = static_cast<double>(4 * tokens * kHeads * kDim);
  ReportReads(state, {0.0, 4.0 * floats}, &buffer, [&] {
    ForRowBlocks(tokens, [&](int64_t row, int64_t rows, int) {
      op({k.view.Rows(row, rows), k.view.Rows(row, rows), row, history.layout, history.blocks});
    });
  });
}
BENCHMARK(BM_ReshapeAndCache)->Arg(4096)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace hstu
