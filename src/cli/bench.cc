// hstu bench: latency, tokens/s and memory of given requests, loading excluded.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "cli/artifacts_report.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/profile.h"
#include "cli/request_file.h"
#include "cli/standard_output.h"

namespace hstu {
namespace {

struct BenchOptions {
  std::string model;
  std::string requests;
  std::string warm;
  int repeat = 10;
  int batch = 1;
  std::string json;
  EngineOptions engine;
  std::string profile;
  std::string warm_up;
};

struct Measured {
  std::vector<double> seconds;  // of each call, ascending
  double total_seconds = 0.0;
  std::int64_t tokens = 0;
  double allocations_per_step = 0.0;
};

Status RankBatch(Engine& engine, std::span<const Request> batch, std::int64_t first) {
  const std::vector<Answer> answers = engine.Rank(batch);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].error) {
      return MakeError(ErrorCode::kBadData, "request {}: {}",
                       first + static_cast<std::int64_t>(i) + 1, answers[i].error->message);
    }
  }
  return {};
}

// Nothing is cached but what these requests leave.
Status Restore(Engine& engine, const std::vector<Request>& warm) {
  if (warm.empty()) return {};
  engine.ForgetUsers();
  for (std::size_t i = 0; i < warm.size(); ++i) {
    HSTU_RETURN_IF_ERROR(
        RankBatch(engine, std::span(warm).subspan(i, 1), static_cast<std::int64_t>(i)));
  }
  engine.WaitForSaves();
  return {};
}

// One pass to warm up, then `repeat` that count.
Result<Measured> Measure(Engine& engine, const std::vector<Request>& requests,
                         const std::vector<Request>& warm, const BenchOptions& options) {
  Measured measured;
  std::int64_t steps = 0;
  std::int64_t allocations = 0;
  for (int round = 0; round <= options.repeat; ++round) {
    HSTU_RETURN_IF_ERROR(Restore(engine, warm));
    const EngineStats before = engine.stats();
    for (std::size_t i = 0; i < requests.size(); i += static_cast<std::size_t>(options.batch)) {
      const auto count = std::min<std::size_t>(options.batch, requests.size() - i);
      const auto begin = std::chrono::steady_clock::now();
      HSTU_RETURN_IF_ERROR(
          RankBatch(engine, std::span(requests).subspan(i, count), static_cast<std::int64_t>(i)));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      if (round > 0) measured.seconds.push_back(seconds.count());
    }
    if (round == 0) continue;
    const EngineStats after = engine.stats();
    measured.tokens += after.tokens - before.tokens;
    steps += after.steps - before.steps;
    allocations += after.step_allocations - before.step_allocations;
  }
  for (const double seconds : measured.seconds) measured.total_seconds += seconds;
  std::sort(measured.seconds.begin(), measured.seconds.end());
  measured.allocations_per_step =
      static_cast<double>(allocations) / static_cast<double>(std::max<std::int64_t>(1, steps));
  return measured;
}

double Quantile(const std::vector<double>& ascending, double quantile) {
  const double place = quantile * static_cast<double>(ascending.size() - 1);
  return ascending[static_cast<std::size_t>(std::lround(place))];
}

Result<int> RunBench(const BenchOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests, ReadRequests(options.requests));
  std::vector<Request> warm;
  if (!options.warm.empty()) {
    if (!options.engine.kv_cache) {
      return MakeError(ErrorCode::kBadArgument, "--warm {}: there is no cache without --kv-cache",
                       options.warm);
    }
    HSTU_ASSIGN_OR_RETURN(warm, ReadRequests(options.warm));
  }
  HSTU_ASSIGN_OR_RETURN(Engine engine, LoadEngine(options.model, options.engine));
  if (FollowedToTheEnd(engine)) return kExitOk;
  HSTU_RETURN_IF_ERROR(WarmUp(engine, options.warm_up));
  HSTU_ASSIGN_OR_RETURN(const Measured measured, Measure(engine, requests, warm, options));
  nlohmann::ordered_json json;
  for (const auto& [name, quantile] : {std::pair("min", 0.0), std::pair("p50", 0.5),
                                       std::pair("p90", 0.9), std::pair("p99", 0.99)}) {
    json["latency"][name] = Quantile(measured.seconds, quantile);
  }
  json["tokens_per_second"] = static_cast<double>(measured.tokens) / measured.total_seconds;
  json["peak_bytes"] = PeakResidentBytes(getpid());
  json["allocations_per_step"] = measured.allocations_per_step;
  json["arena_bytes"] = engine.stats().arena_bytes;
  const EngineStats stats = engine.stats();
  if (!stats.buckets.empty()) json["artifacts"] = ArtifactsJson(stats);
  json["requests"] = requests.size();
  json["batch"] = options.batch;
  json["repeat"] = options.repeat;
  HSTU_RETURN_IF_ERROR(WriteProfile(engine, options.profile));
  if (!options.json.empty()) {
    HSTU_RETURN_IF_ERROR(WriteJson(json, options.json));
    if (options.json == "-") return kExitOk;
  }
  const auto& latency = json["latency"];
  HSTU_RETURN_IF_ERROR(WriteStandardOutput(
      fmt::format("latency ms   min {:.3f}  p50 {:.3f}  p90 {:.3f}  p99 {:.3f}\n"
                  "tokens/s     {:.0f}\n"
                  "peak memory  {:.1f} MiB\n"
                  "allocations  {} a step\n",
                  latency["min"].get<double>() * 1e3, latency["p50"].get<double>() * 1e3,
                  latency["p90"].get<double>() * 1e3, latency["p99"].get<double>() * 1e3,
                  json["tokens_per_second"].get<double>(),
                  static_cast<double>(json["peak_bytes"].get<std::int64_t>()) / (1 << 20),
                  measured.allocations_per_step) +
      ArtifactsLine(stats)));
  HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  return kExitOk;
}

}  // namespace

Runner AddBench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  app.add_option("--model", options->model, "folder of the model")->required();
  app.add_option("--requests", options->requests, "JSON Lines; each must be answerable")
      ->required();
  app.add_option("--warm", options->warm,
                 "JSON Lines that are cached first; that state is restored before each pass");
  app.add_option("--repeat", options->repeat,
                 "passes over the requests that count, after one that doesn't")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--batch", options->batch, "requests that are ranked together")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  AddJsonOption(app, options->json);
  AddEngineOptions(app, options->engine);
  AddWarmUpOption(app, options->warm_up);
  AddRankOptions(app, options->engine);
  AddProfileOption(app, options->profile, options->engine);
  return [options] { return RunBench(*options); };
}

}  // namespace hstu
