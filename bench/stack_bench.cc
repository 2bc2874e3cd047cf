// The whole stack: histories with candidates through an engine, as a fraction of the FMA peak of
// the same run. Counted are the flops of visible pairs, without rows that no answer needs.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "bench/ratio.h"
#include "hstu/hstu.hpp"
#include "model/config.h"
#include "model/init_model.h"

namespace hstu {
namespace {

constexpr int64_t kVideos = 100000;

// 4 layers, 4 heads of 128, hidden 512: the size that peers are compared at.
Result<std::string> MakeModel() {
  const std::string json = fmt::format(
      R"({{"architecture": "hstu_ranking", "hidden_size": 512, "num_layers": 4,
          "num_attention_heads": 4, "kv_channels": 128, "layernorm_epsilon": 1e-5,
          "attention": "silu", "scaling_seqlen": 4096, "max_history_tokens": 8192,
          "max_num_candidates": 512, "num_position_buckets": 8192, "item_feature": "video_id",
          "action_feature": null, "contextual_features": [],
          "embedding_tables": [{{"name": "video_id", "num_embeddings": {}, "features": ["video_id"]}}],
          "prediction_head_arch": [512, 8], "prediction_head_bias": true}})",
      kVideos);
  Result<ModelConfig> config = ParseConfig(json, "stack_bench");
  if (!config.ok()) return config.error();
  const std::string folder = (std::filesystem::temp_directory_path() / "hstu_stack_bench").string();
  const Status status = WriteRandomModel(config.value(), InitOptions{}, folder);
  if (!status.ok()) return status.error();
  return folder;
}

Request MakeRequest(int64_t tokens, int64_t candidates) {
  std::mt19937 random(static_cast<unsigned>(tokens));
  Request request;
  for (int64_t i = 0; i < tokens; ++i) {
    auto& ids = i < tokens - candidates ? request.items : request.candidates;
    ids.push_back(static_cast<int64_t>(random() % kVideos));
  }
  return request;
}

double UsefulFlops(int64_t tokens, int64_t candidates) {
  constexpr double kHidden = 512;
  constexpr double kWidth = 512;
  constexpr double kLayers = 4;
  const auto n = static_cast<double>(tokens);
  const auto m = static_cast<double>(candidates);
  const double h = n - m;
  const double candidate_pairs = m * (h + 1);
  const double pairs = h * (h + 1) / 2 + candidate_pairs;
  const double full = 2 * n * 5 * kWidth * kHidden + 4 * kWidth * pairs;
  const double last =
      2 * h * 2 * kWidth * kHidden + 2 * m * 5 * kWidth * kHidden + 4 * kWidth * candidate_pairs;
  return (kLayers - 1) * full + last + 2 * m * (kHidden * kHidden + kHidden * 8);
}

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
  const Result<std::string> model = MakeModel();
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
      const double median =
          ReportCase(&engine.value(), &pool, {MakeRequest(tokens, candidates)},
                     UsefulFlops(tokens, candidates), fmt::format("{} tokens", tokens), repeats);
      if (tokens == 2048) seconds[threads == 1] = median;
    }
    std::vector<Request> batch;
    double flops = 0.0;
    for (const int64_t tokens : {128, 256, 512, 512, 1024, 1024, 2048, 4096}) {
      batch.push_back(MakeRequest(tokens, tokens / 16));
      flops += UsefulFlops(tokens, tokens / 16);
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
