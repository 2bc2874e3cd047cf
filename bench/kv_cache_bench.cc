// The KV cache: cached against fresh, what bookkeeping takes, back from disk against computing, how
// much of the bringing back is hidden, and a million users in the index.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cache/kv_cache.h"
#include "hstu/hstu.hpp"
#include "model/config.h"
#include "model/init_model.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVideos = 100000;
constexpr int64_t kHistory = 4096;
constexpr int64_t kNew = 128;
constexpr int64_t kCandidates = 256;

double Seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// 4 layers, 4 heads of 128, hidden 512.
Result<std::string> MakeModel(const std::string& folder) {
  const std::string json = fmt::format(
      R"({{"architecture": "hstu_ranking", "hidden_size": 512, "num_layers": 4,
          "num_attention_heads": 4, "kv_channels": 128, "layernorm_epsilon": 1e-5,
          "attention": "silu", "scaling_seqlen": 4096, "max_history_tokens": 4096,
          "max_num_candidates": 512, "num_position_buckets": 8192, "item_feature": "video_id",
          "action_feature": null, "contextual_features": [],
          "embedding_tables": [{{"name": "video_id", "num_embeddings": {}, "features": ["video_id"]}}],
          "prediction_head_arch": [512, 8], "prediction_head_bias": true}})",
      kVideos);
  Result<ModelConfig> config = ParseConfig(json, "kv_cache_bench");
  if (!config.ok()) return config.error();
  const Status status = WriteRandomModel(config.value(), InitOptions{}, folder);
  if (!status.ok()) return status.error();
  return folder;
}

Request MakeRequest(const std::string& user_id, int64_t history, int64_t candidates) {
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(user_id)));
  Request request;
  request.user_id = user_id;
  for (int64_t i = 0; i < history; ++i) request.items.push_back(random() % kVideos);
  for (int64_t i = 0; i < candidates; ++i) request.candidates.push_back(random() % kVideos);
  return request;
}

// As the engine executes them: the last layer computes K and V of history and rows of candidates.
double Flops(int64_t cached, int64_t history, int64_t candidates) {
  constexpr double kWidth = 512;
  constexpr double kLayers = 4;
  const auto n = static_cast<double>(history - cached);
  const auto m = static_cast<double>(candidates);
  const auto h = static_cast<double>(history);
  const double pairs = n * (static_cast<double>(cached) + (n + 1) / 2);
  const double full = 2 * (n + m) * 5 * kWidth * kWidth + 4 * kWidth * (pairs + m * (h + 1));
  const double last =
      2 * n * 2 * kWidth * kWidth + 2 * m * 5 * kWidth * kWidth + 4 * kWidth * m * (h + 1);
  return (kLayers - 1) * full + last;
}

void Rank(Engine* engine, const Request& request) {
  const std::vector<Answer> answers = engine->Rank({&request, 1});
  if (answers[0].error) fmt::print(stderr, "{}\n", answers[0].error->message);
}

Engine Load(const std::string& model, const EngineOptions& options) {
  Result<Engine> engine = Engine::Load(model, options);
  if (!engine.ok()) {
    fmt::print(stderr, "{}\n", engine.error().message);
    std::exit(2);
  }
  return std::move(engine).value();
}

void CachedAgainstFresh(const std::string& model, int repeats) {
  EngineOptions options;
  options.kv_cache = true;
  Engine cached = Load(model, options);
  Engine fresh = Load(model, {});
  double step_seconds = 0.0;
  for (const int64_t candidates : {int64_t{0}, kCandidates}) {
    const Request whole = MakeRequest("u", kHistory, candidates);
    Request known = whole;
    known.items.resize(kHistory - kNew);
    known.candidates.clear();
    std::vector<double> warm;
    std::vector<double> cold;
    for (int i = 0; i < repeats; ++i) {
      Rank(&cached, known);
      warm.push_back(Seconds([&] { Rank(&cached, whole); }));
      cold.push_back(Seconds([&] { Rank(&fresh, whole); }));
    }
    const double ratio = Median(cold) / Median(warm);
    const double flops =
        Flops(0, kHistory, candidates) / Flops(kHistory - kNew, kHistory, candidates);
    fmt::print(
        "{} of {} tokens cached, {:>3} candidates: {:.1f} ms, fresh {:.1f} ms, {:.2f}x, "
        "{:.0f} % of the {:.2f}x of their flops\n",
        kHistory - kNew, kHistory, candidates, Median(warm) * 1e3, Median(cold) * 1e3, ratio,
        100 * ratio / flops, flops);
    step_seconds = Median(warm);
  }
  // All is known, nothing is asked: what is left is compare, lookup and block tables.
  const Request nothing = MakeRequest("u", kHistory, 0);
  std::vector<double> times;
  for (int i = 0; i < 20 * repeats; ++i) {
    times.push_back(Seconds([&] { Rank(&cached, nothing); }));
  }
  fmt::print("bookkeeping of {} tokens: {:.1f} us, {:.2f} % of the request above\n", kHistory,
             Median(times) * 1e6, 100 * Median(times) / step_seconds);
}

void BackFrom(const std::string& model, const std::string& folder, const char* tier, int repeats) {
  EngineOptions options;
  options.kv_cache = true;
  options.kv_pages = kHistory / 32 + 1;  // one user
  if (std::string(tier) == "disk") {
    options.disk = folder + "/states";
    options.disk_bytes = int64_t{4} << 30;
  } else {
    options.host_bytes = int64_t{1} << 30;
  }
  Engine engine = Load(model, options);
  Engine fresh = Load(model, {});
  std::vector<double> back;
  std::vector<double> computed;
  std::vector<double> hidden;
  for (int i = 0; i < repeats; ++i) {
    const std::string name = "u" + std::to_string(i);
    const Request user = MakeRequest(name, kHistory, 0);
    Request known = user;
    known.items.resize(kHistory - kNew);
    Request asked = MakeRequest(name, kHistory, kCandidates);
    const Request other = MakeRequest("other", kHistory, 0);
    Rank(&engine, user);
    Rank(&engine, other);
    engine.WaitForSaves();
    back.push_back(Seconds([&] { Rank(&engine, user); }));
    computed.push_back(Seconds([&] { Rank(&fresh, user); }));
    Rank(&engine, known);
    Rank(&engine, other);
    engine.WaitForSaves();
    const EngineStats before = engine.stats();
    Rank(&engine, asked);
    const EngineStats after = engine.stats();
    const double arriving = after.kv_arrival_seconds - before.kv_arrival_seconds;
    if (arriving > 0) {
      hidden.push_back(1 - (after.kv_waited_seconds - before.kv_waited_seconds) / arriving);
    }
  }
  fmt::print("{} tokens back from {}: {:.1f} ms, computed {:.1f} ms, {:.1f}x\n", kHistory, tier,
             Median(back) * 1e3, Median(computed) * 1e3, Median(computed) / Median(back));
  if (!hidden.empty()) {
    fmt::print("{} new tokens and {} candidates: {:.0f} % of bringing back is hidden\n", kNew,
               kCandidates, 100 * Median(hidden));
  }
}

void MillionUsers() {
  KvModelShape shape;
  shape.stages = {Stage{4, {}}};
  shape.heads = 4;
  shape.dim = 128;
  shape.hidden_size = 512;
  shape.max_history_tokens = 64;
  KvCache cache(PagePool::Make(MakeKvLayout(shape, 32, 8).value()).value());
  constexpr int64_t kUsers = 1000000;
  std::vector<std::string> names;
  for (int64_t i = 0; i < kUsers; ++i) names.push_back(std::to_string(i * 7919));
  const auto used = [] { return static_cast<double>(mallinfo2().uordblks); };
  const double before = used();
  for (const std::string& name : names) KvCache::Unpin(cache.Restart(name, {}, 0));
  const double bytes = (used() - before) / kUsers;
  std::mt19937 random(1);
  std::shuffle(names.begin(), names.end(), random);
  int64_t found = 0;
  const double seconds = Seconds([&] {
    for (const std::string& name : names) found += cache.Find(name) != nullptr ? 1 : 0;
  });
  fmt::print("{} users: lookup {:.0f} ns, {:.0f} bytes a user\n", found, seconds / kUsers * 1e9,
             bytes);
}

int Run(int repeats) {
  const std::string folder =
      (fs::temp_directory_path() / ("hstu_kv_cache_bench." + std::to_string(getpid()))).string();
  const Result<std::string> model = MakeModel(folder);
  if (!model.ok()) {
    fmt::print(stderr, "{}\n", model.error().message);
    return 2;
  }
  CachedAgainstFresh(model.value(), repeats);
  for (const char* tier : {"host", "disk"}) BackFrom(model.value(), folder, tier, repeats);
  MillionUsers();
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) { return hstu::Run(argc > 1 ? std::atoi(argv[1]) : 7); }
