// A compiled model beside the built-in path and beside the eager interpreter: latency, memory of
// activations, loading. Rounds of the three alternate, so that a machine's drift meets all alike.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/timing.h"
#include "bench/stack_model.h"
#include "compile/build.h"
#include "compile/eager.h"
#include "engine/workspace.h"
#include "hstu/hstu.hpp"
#include "model/weights.h"

namespace hstu {
namespace {

// A step's shape.
struct Case {
  int64_t tokens;
  int64_t sequences;
};
constexpr Case kCases[] = {{512, 1}, {2048, 1}, {4096, 1}, {512, 8}};

std::vector<Request> RequestsOf(const Case& shape) {
  return std::vector<Request>(
      static_cast<size_t>(shape.sequences),
      MakeStackRequest(shape.tokens, std::min<int64_t>(256, shape.tokens / 8)));
}

// An engine whose arena holds just this step.
Result<Engine> LoadFor(const std::string& model, const std::string& artifacts, const Case& shape) {
  EngineOptions options;
  options.artifacts = artifacts;
  options.max_step_tokens = shape.tokens * shape.sequences;
  return Engine::Load(model, options);
}

// Of the memory that a step of one sequence needs, pages of K and V and threads' scratch included.
double ActivationBytes(const ModelConfig& config, int64_t tokens) {
  constexpr int64_t kPage = 32;
  WorkspaceLimits limits;
  limits.tokens = tokens;
  limits.step_pages = CeilDiv(tokens, kPage);
  limits.threads = AvailableProcessors();
  const Result<Workspace> workspace = Workspace::Make(config, limits, kPage);
  return workspace.ok() ? static_cast<double>(workspace.value().arena_bytes()) : 0.0;
}

int RunCase(const std::string& model, const std::string& artifacts, const Case& shape,
            int repeats) {
  const Result<ModelFiles> files = ModelFiles::Load(model);
  Result<Engine> builtin = LoadFor(model, "", shape);
  Result<Engine> compiled = LoadFor(model, artifacts, shape);
  const auto eager = Eager::Load(model, SupportedIsas().back(), AvailableProcessors());
  if (!files.ok() || !builtin.ok() || !compiled.ok() || !eager.ok()) {
    fmt::print(stderr, "{}\n",
               compiled.ok() ? "the model can't be loaded" : compiled.error().message);
    return 2;
  }
  const std::vector<Request> requests = RequestsOf(shape);
  const std::function<void()> runs[] = {[&] { builtin->Rank(requests); },
                                        [&] { compiled->Rank(requests); },
                                        [&] {
                                          for (const Request& request : requests)
                                            (void)eager.value()->Rank(request).ok();
                                        }};
  std::vector<double> seconds[3];
  for (int round = 0; round <= repeats; ++round) {
    for (int i = 0; i < 3; ++i) {
      const double took = SecondsOf(runs[i]);
      if (round > 0) seconds[i].push_back(took);
    }
  }
  const double medians[] = {Median(seconds[0]), Median(seconds[1]), Median(seconds[2])};
  // The interpreter takes a batch one by one: what it needs for one says nothing of all.
  const double arena = ActivationBytes(files->config(), shape.tokens);
  const auto peak = static_cast<double>(eager.value()->peak_bytes());
  fmt::print(
      "{} x {:<5} built-in {:>8.2f} ms  compiled {:>8.2f} ms ({:.3f} of built-in)  eager {:>8.2f} "
      "ms "
      "(compiled {:.1f} % less)  activations of one {:.1f} of {:.1f} MB ({:.1f} % less)  hits {}\n",
      shape.sequences, shape.tokens, medians[0] * 1e3, medians[1] * 1e3, medians[1] / medians[0],
      medians[2] * 1e3, 100 * (1 - medians[1] / medians[2]), arena * 1e-6, peak * 1e-6,
      100 * (1 - arena / peak), compiled->stats().artifact_hits);
  return 0;
}

void RunLoading(const std::string& model, const std::string& artifacts) {
  const Request request = MakeStackRequest(512, 64);
  for (const std::string& folder : {std::string(), artifacts}) {
    std::vector<double> load;
    std::vector<double> first;
    for (int round = 0; round < 7; ++round) {
      EngineOptions options;
      options.artifacts = folder;
      const auto begin = std::chrono::steady_clock::now();
      Result<Engine> engine = Engine::Load(model, options);
      const auto loaded = std::chrono::steady_clock::now();
      engine->Rank({&request, 1});
      const auto ranked = std::chrono::steady_clock::now();
      load.push_back(std::chrono::duration<double>(loaded - begin).count());
      first.push_back(std::chrono::duration<double>(ranked - begin).count());
    }
    fmt::print("{:<12} loading {:>7.2f} ms, to the first answer of 512 tokens {:>7.2f} ms\n",
               folder.empty() ? "built-in" : "compiled", Median(load) * 1e3, Median(first) * 1e3);
  }
}

int Run(int repeats) {
  const Result<std::string> model = MakeStackModel("hstu_compile_bench");
  if (!model.ok()) {
    fmt::print(stderr, "{}\n", model.error().message);
    return 2;
  }
  CompileOptions options;
  options.model = model.value();
  options.out = (std::filesystem::temp_directory_path() / "hstu_compile_bench_artifacts").string();
  for (const bool nine : {false, true}) {
    options.seq_lens =
        nine ? std::vector<int64_t>{512, 2048, 4096} : std::vector<int64_t>{512, 2048};
    options.batches = nine ? std::vector<int64_t>{1, 4, 8} : std::vector<int64_t>{1};
    std::filesystem::remove_all(options.out);
    Status status;
    const double seconds = SecondsOf([&] {
      const Result<CompileReport> report = CompileModel(options);
      if (!report.ok()) status = report.error();
    });
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.error().message);
      return 2;
    }
    fmt::print("{} buckets compiled in {:.1f} s on {} processors\n", nine ? "nine" : "two", seconds,
               AvailableProcessors());
  }
  RunLoading(model.value(), options.out);
  for (const Case& shape : kCases) {
    if (RunCase(model.value(), options.out, shape, repeats) != 0) return 2;
  }
  return 0;
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) { return hstu::Run(argc > 1 ? std::atoi(argv[1]) : 11); }
