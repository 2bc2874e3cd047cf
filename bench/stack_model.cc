#include "bench/stack_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "model/config.h"
#include "model/init_model.h"

namespace hstu {
namespace {

constexpr int64_t kVideos = 100000;
constexpr double kHidden = 512;
constexpr double kWidth = 512;

}  // namespace

Result<std::string> MakeStackModel(const std::string& name, const std::string& stages,
                                   DType dtype) {
  const std::string json = fmt::format(
      R"({{"architecture": "hstu_ranking", "hidden_size": 512, "num_layers": 4,
          "num_attention_heads": 4, "kv_channels": 128, "layernorm_epsilon": 1e-5,
          "attention": "silu", "scaling_seqlen": 4096, "max_history_tokens": 8192,
          "max_num_candidates": 512, "num_position_buckets": 8192, "item_feature": "video_id",
          "action_feature": null, "contextual_features": [],
          "embedding_tables": [{{"name": "video_id", "num_embeddings": {}, "features": ["video_id"]}}],
          "prediction_head_arch": [512, 8], "prediction_head_bias": true, "stages": {}}})",
      kVideos, stages);
  Result<ModelConfig> config = ParseConfig(json, name);
  if (!config.ok()) return config.error();
  const std::string folder = (std::filesystem::temp_directory_path() / name).string();
  const Status status = WriteRandomModel(config.value(), InitOptions{.dtype = dtype}, folder);
  if (!status.ok()) return status.error();
  return folder;
}

Request MakeStackRequest(int64_t tokens, int64_t candidates) {
  std::mt19937 random(static_cast<unsigned>(tokens));
  Request request;
  for (int64_t i = 0; i < tokens; ++i) {
    auto& ids = i < tokens - candidates ? request.items : request.candidates;
    ids.push_back(static_cast<int64_t>(random() % kVideos));
  }
  return request;
}

double UsefulStackFlops(std::span<const Stage> stages, int64_t tokens, int64_t candidates) {
  const auto m = static_cast<double>(candidates);
  double total = 2 * m * (kHidden * kHidden + kHidden * 8);
  const StagePositions history = CompleteTokens(stages, tokens - candidates);
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto h = static_cast<double>(history[i]);
    const double candidate_pairs = m * (h + 1);
    const double pairs = h * (h + 1) / 2 + candidate_pairs;
    const double full = 2 * (h + m) * 5 * kWidth * kHidden + 4 * kWidth * pairs;
    const bool has_last = i + 1 == stages.size();
    total += static_cast<double>(stages[i].num_layers - (has_last ? 1 : 0)) * full;
    if (!has_last) continue;
    total += 2 * h * 2 * kWidth * kHidden + 2 * m * 5 * kWidth * kHidden;
    total += 4 * kWidth * candidate_pairs;
  }
  return total;
}

}  // namespace hstu
