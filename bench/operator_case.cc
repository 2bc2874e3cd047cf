#include "bench/operator_case.h"

#include <random>
#include <string>

#include "bench/fma_peak.h"
#include "bench/ratio.h"

namespace hstu {
namespace {

constexpr int kRepeats = 31;

// The counters that all cases have, as fractions of `ceiling`.
void Count(benchmark::State& state, const RatioResult& result, const Work& work,
           const std::string& ceiling) {
  state.SetIterationTime(result.median_seconds);
  state.counters["of_" + ceiling] = result.median_of_peak;
  state.counters["of_" + ceiling + "_p90"] = result.p90_of_peak;
  state.counters["of_" + ceiling + "_cpu"] = result.processor_of_peak;
  state.counters["intensity"] = work.flops / work.bytes;
  state.counters["samples"] = result.samples;
}

}  // namespace

ThreadPool& Pool() {
  static ThreadPool pool(AvailableProcessors());
  return pool;
}

Isa BestIsa() {
  static const Isa isa = SupportedIsas().back();
  return isa;
}

Buffer RandomMatrix(int64_t rows, int64_t cols, float scale) {
  Buffer buffer{AllocateAligned<float>(rows * cols), {}};
  buffer.view = {buffer.data.get(), rows, cols, cols};
  std::mt19937 generator(static_cast<unsigned>(rows * 31 + cols));
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (int64_t i = 0; i < rows * cols; ++i) buffer.data[i] = uniform(generator);
  return buffer;
}

void ReportFlops(benchmark::State& state, const Work& work, const std::function<void()>& body) {
  for (auto _ : state) {
    const RatioResult result = MeasureFlops(&Pool(), BestIsa(), work.flops, kRepeats, body);
    Count(state, result, work, "peak");
    state.counters["peak_gflops"] = result.peak / 1e9;
    state.counters["gflops"] = result.median_of_peak * result.peak / 1e9;
  }
}

void ReportReads(benchmark::State& state, const Work& work, ReadBuffer* buffer,
                 const std::function<void()>& body) {
  for (auto _ : state) {
    const RatioResult result = MeasureRatio(
        &Pool(), [&] { return buffer->Burst(&Pool(), BestIsa()); }, work.bytes, kRepeats, body);
    Count(state, result, work, "read");
    state.counters["peak_gbytes"] = result.peak / 1e9;
    state.counters["gbytes"] = result.median_of_peak * result.peak / 1e9;
    state.counters["gflops"] = result.median_of_peak * result.peak / 1e9 * work.flops / work.bytes;
  }
}

}  // namespace hstu
