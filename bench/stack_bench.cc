// The whole stack: histories with candidates through an engine, as a fraction of the FMA peak of
// the same run. Counted are the flops of visible pairs, without rows that no answer needs.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/ratio.h"
#include "bench/stack_model.h"
#include "hstu/hstu.hpp"

namespace hstu {
namespace {

const std::vector<Stage> kStages = {{4, {}}};

double ReportCase(Engine* engine, ThreadPool* pool, const std::vector<Request>& requests,
                  double flops, const std::string& name, int repeats) {
  const RatioResult result = MeasureFlops(pool, SupportedIsas().back(), flops, repeats, [&] {
    for (const Answer& answer : engine->Rank(requests)) {
      if (answer.error) fmt::print(stderr, "{}\n", answer.error->message);
    }
  });
  fmt::print(
      "{:<22} {:>8.2f} ms  of_peak {:.3f}  p90 {:.3f}  cpu {:.3f}  peak {:.0f} GFLOP/s  {}\n", name,
      result.median_seconds * 1e3, result.median_of_peak, result.p90_of_peak,
      result.processor_of_peak, result.peak / 1e9, result.samples);
  return result.median_seconds;
}

int Run(int repeats) {
  const Result<std::string> model = MakeStackModel("hstu_stack_bench");
  if (!model.ok()) {
    fmt::print(stderr, "{}\n", model.error().message);
    return 2;
  }
  double seconds[2] = {};
  for (const int threads : {AvailableProcessors(), 1}) {
    EngineOptions options;
    options.threads = threads;
    Result<Engine> engine = Engine::Load(model.value(), options);
    ThreadPool pool(threads);
    fmt::print("{} threads\n", threads);
    for (const auto& [tokens, candidates] :
         {std::pair<int64_t, int64_t>{512, 64}, {2048, 256}, {4096, 256}}) {
      const double median = ReportCase(
          &engine.value(), &pool, {MakeStackRequest(tokens, candidates)},
          UsefulStackFlops(kStages, tokens, candidates), fmt::format("{} tokens", tokens), repeats);
      if (tokens == 2048) seconds[threads == 1] = median;
    }
    std::vector<Request> batch;
    double flops = 0.0;
    for (const int64_t tokens : {128, 256, 512, 512, 1024, 1024, 2048, 4096}) {
      batch.push_back(MakeStackRequest(tokens, tokens / 16));
      flops += UsefulStackFlops(kStages, tokens, tokens / 16);
    }
    ReportCase(&engine.value(), &pool, batch, flops, "8 sequences", repeats);
  }
  fmt::print("2048 tokens: {} threads are {:.2f}x one\n", AvailableProcessors(),
             seconds[1] / seconds[0]);
  return 0;
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) { return hstu::Run(argc > 1 ? std::atoi(argv[1]) : 15); }
