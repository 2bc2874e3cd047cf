// The roofs: multiply-adds in registers, reads from memory and from the last cache.
#include "bench/fma_peak.h"
#include "bench/operator_case.h"
#include "bench/ratio.h"

namespace hstu {
namespace {

constexpr int64_t kPiece = 16 << 20;
constexpr int kBursts = 101;

// The median of bursts, and the largest.
template <typename Burst>
void ReportBursts(benchmark::State& state, const char* unit, const Burst& burst) {
  for (auto _ : state) {
    std::vector<double> rates;
    for (int i = 0; i < kBursts; ++i) rates.push_back(burst().wall / 1e9);
    std::sort(rates.begin(), rates.end());
    state.SetIterationTime(1e-9);
    state.counters[unit] = rates[kBursts / 2];
    state.counters[std::string(unit) + "_max"] = rates.back();
  }
}

void BM_PeakFma(benchmark::State& state) {
  ReportBursts(state, "gflops", [] { return FmaBurst(&Pool(), BestIsa()); });
}
BENCHMARK(BM_PeakFma)->Iterations(1)->UseManualTime();

void BM_PeakReadMemory(benchmark::State& state) {
  ReadBuffer buffer(4 * LastCacheBytes(), kPiece);
  ReportBursts(state, "gbytes", [&] { return buffer.Burst(&Pool(), BestIsa()); });
}
BENCHMARK(BM_PeakReadMemory)->Iterations(1)->UseManualTime();

void BM_PeakReadLastCache(benchmark::State& state) {
  const int64_t bytes = LastCacheBytes() / 4;
  ReadBuffer buffer(bytes, bytes);
  ReportBursts(state, "gbytes", [&] { return buffer.Burst(&Pool(), BestIsa()); });
}
BENCHMARK(BM_PeakReadLastCache)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace hstu
