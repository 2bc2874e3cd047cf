// A hierarchical model beside the flat one of as many layers, at 4096 tokens: the time that its
// flops promise? The two take turns, so that the machine's drift meets both.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/timing.h"
#include "bench/fma_peak.h"
#include "bench/stack_model.h"
#include "hstu/hstu.hpp"

namespace hstu {
namespace {

constexpr int64_t kTokens = 4096;
constexpr int64_t kCandidates = 256;
constexpr const char* kStages =
    R"([{"num_layers": 1}, {"num_layers": 3, "aggregation_window": 4, "aggregation_stride": 4}])";

struct Samples {
  std::vector<double> wall;       // seconds
  std::vector<double> processor;  // seconds, a thread
};

void Measure(Engine* engine, const Request& request, int threads, Samples* samples) {
  const Stopwatch stopwatch(threads);
  const std::vector<Answer> answers = engine->Rank({&request, 1});
  const Elapsed elapsed = stopwatch.Read();
  if (answers[0].error) fmt::print(stderr, "{}\n", answers[0].error->message);
  samples->wall.push_back(elapsed.wall);
  samples->processor.push_back(elapsed.processor);
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return Median(ratios);
}

Status Compare(const std::string& flat_model, const std::string& staged_model, int threads,
               int repeats) {
  EngineOptions options;
  options.threads = threads;
  Result<Engine> flat = Engine::Load(flat_model, options);
  if (!flat.ok()) return flat.error();
  Result<Engine> staged = Engine::Load(staged_model, options);
  if (!staged.ok()) return staged.error();
  const Request request = MakeStackRequest(kTokens, kCandidates);
  Samples flat_samples;
  Samples staged_samples;
  for (int i = 0; i <= repeats; ++i) {
    if (i == 1) flat_samples = staged_samples = {};  // the first warms up
    Measure(&flat.value(), request, threads, &flat_samples);
    Measure(&staged.value(), request, threads, &staged_samples);
  }
  const double promised =
      UsefulStackFlops(std::vector<Stage>{{1, {}}, {3, {4, 4}}}, kTokens, kCandidates) /
      UsefulStackFlops(std::vector<Stage>{{4, {}}}, kTokens, kCandidates);
  const double wall = MedianRatio(staged_samples.wall, flat_samples.wall);
  const double processor = MedianRatio(staged_samples.processor, flat_samples.processor);
  fmt::print(
      "{} threads  flat {:.2f} ms  hierarchical {:.2f} ms\n"
      "  of the flat model's flops {:.3f}, of its time {:.3f} ({:.2f} of the promise), of its "
      "processor time {:.3f} ({:.2f})\n",
      threads, Median(flat_samples.wall) * 1e3, Median(staged_samples.wall) * 1e3, promised, wall,
      wall / promised, processor, processor / promised);
  return {};
}

Status Run(int repeats) {
  const Result<std::string> flat = MakeStackModel("hstu_flat_bench");
  if (!flat.ok()) return flat.error();
  const Result<std::string> staged = MakeStackModel("hstu_hierarchical_bench", kStages);
  if (!staged.ok()) return staged.error();
  for (const int threads : {AvailableProcessors(), 1}) {
    const Status status = Compare(flat.value(), staged.value(), threads, repeats);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) {
  const hstu::Status status = hstu::Run(argc > 1 ? std::atoi(argv[1]) : 15);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.error().message);
  return status.ok() ? 0 : 2;
}
