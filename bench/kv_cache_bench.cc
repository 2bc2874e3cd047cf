// The KV cache: cached against fresh, what bookkeeping takes, back from disk against computing, how
// much of the bringing back is hidden, and a million users in the index.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "base/timing.h"
#include "bench/ratio.h"
#include "bench/read_bandwidth.h"
#include "bench/stack_model.h"
#include "cache/kv_cache.h"
#include "hstu/hstu.hpp"

namespace hstu {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVideos = 100000;
constexpr int64_t kHistory = 4096;
constexpr int64_t kNew = 128;
constexpr int64_t kCandidates = 256;

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
      warm.push_back(SecondsOf([&] { Rank(&cached, whole); }));
      cold.push_back(SecondsOf([&] { Rank(&fresh, whole); }));
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
    times.push_back(SecondsOf([&] { Rank(&cached, nothing); }));
  }
  fmt::print("bookkeeping of {} tokens: {:.1f} us, {:.2f} % of the request above\n", kHistory,
             Median(times) * 1e6, 100 * Median(times) / step_seconds);
}

void BackFrom(const std::string& model, const std::string& states, const char* tier, int repeats) {
  EngineOptions options;
  options.kv_cache = true;
  options.kv_pages = 2 * kHistory / 32 + 1;  // two of these users
  if (std::string(tier) == "disk") {
    options.disk = states;
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
    const Request others[] = {MakeRequest("a", kHistory, 0), MakeRequest("b", kHistory, 0)};
    Rank(&engine, user);
    for (const Request& other : others) Rank(&engine, other);
    engine.WaitForSaves();
    back.push_back(SecondsOf([&] { Rank(&engine, user); }));
    computed.push_back(SecondsOf([&] { Rank(&fresh, user); }));
    Rank(&engine, known);
    for (const Request& other : others) Rank(&engine, other);
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

// One new event and one candidate on 4096 cached tokens, of another user each time: K, V and
// weights come from memory. Returns the seconds.
double OneEvent(const std::string& model, const std::string& kv_dtype, int repeats) {
  constexpr int64_t kKeysAndValues = 4 * 2 * 512;  // of a token
  const int64_t element = kv_dtype == "f32" ? 4 : 2;
  const int64_t user_bytes = kHistory * kKeysAndValues * element;
  const int64_t users = CeilDiv(2 * LastCacheBytes(), user_bytes) + 1;
  EngineOptions options;
  options.kv_cache = true;
  options.kv_dtype = kv_dtype;
  options.kv_pages = (users + 1) * (kHistory / 32 + 8);
  Engine engine = Load(model, options);
  std::vector<Request> requests;
  for (int64_t i = 0; i < users; ++i) {
    requests.push_back(MakeRequest("u" + std::to_string(i), kHistory, 0));
    Rank(&engine, requests.back());
    requests.back().items = {i};
    requests.back().candidates = {i + 1};
    requests.back().history_start = kHistory;
  }
  ThreadPool pool(AvailableProcessors());
  const Isa isa = ParseIsa("").value();
  ReadBuffer buffer(std::max<int64_t>(2 * LastCacheBytes(), 64 << 20), 8 << 20);
  const auto bytes = static_cast<double>(user_bytes + engine.stats().weight_bytes);
  size_t next = 0;
  const auto body = [&] {
    Request& request = requests[next++ % requests.size()];
    Rank(&engine, request);
    ++*request.history_start;
  };
  const RatioResult result = MeasureRatio(
      &pool, [&] { return buffer.Burst(&pool, isa); }, bytes, repeats, body);
  fmt::print(
      "one event, one candidate, K and V {}: {:.2f} ms, {:.1f} MB, {:.2f} of read bandwidth "
      "({:.1f} GB/s; {} samples)\n",
      kv_dtype, result.median_seconds * 1e3, bytes / 1e6, result.median_of_peak, result.peak / 1e9,
      result.samples);
  return result.median_seconds;
}

Status OneEventOfEachType(int repeats) {
  HSTU_ASSIGN_OR_RETURN(const std::string f32, MakeStackModel("hstu_kv_cache_bench_f32"));
  HSTU_ASSIGN_OR_RETURN(const std::string bf16,
                        MakeStackModel("hstu_kv_cache_bench_bf16", "null", DType::kBF16));
  const double plain = OneEvent(f32, "f32", repeats);
  fmt::print("  {:.2f}x with K and V in bf16\n", plain / OneEvent(f32, "bf16", repeats));
  fmt::print("  {:.2f}x with weights in bf16 too\n", plain / OneEvent(bf16, "bf16", repeats));
  return {};
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
  const double seconds = SecondsOf([&] {
    for (const std::string& name : names) found += cache.Find(name) != nullptr ? 1 : 0;
  });
  fmt::print("{} users: lookup {:.0f} ns, {:.0f} bytes a user\n", found, seconds / kUsers * 1e9,
             bytes);
}

Status Run(int repeats) {
  HSTU_ASSIGN_OR_RETURN(const std::string model, MakeStackModel("hstu_kv_cache_bench"));
  const std::string states = model + "/states." + std::to_string(getpid());
  CachedAgainstFresh(model, repeats);
  for (const char* tier : {"host", "disk"}) BackFrom(model, states, tier, repeats);
  HSTU_RETURN_IF_ERROR(OneEventOfEachType(10 * repeats));
  MillionUsers();
  fs::remove_all(states);
  return {};
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) {
  const hstu::Status status = hstu::Run(argc > 1 ? std::atoi(argv[1]) : 7);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.error().message);
  return status.ok() ? 0 : 2;
}
