// Compiled buckets give the bits of the built-in path: at their boundaries, on misses, in any
// batch, with the KV cache, in all types. And the eager interpreter gives the golden logits.
#include "tests/artifacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/test_files.h"
#include "compile/eager.h"
#include "model/weights.h"
#include "tests/golden.h"

namespace hstu {
namespace {

// Makes requests of given lengths out of one of the golden ones.
class Lengths {
 public:
  explicit Lengths(const GoldenCase& golden) {
    const Result<ModelFiles> files = ModelFiles::Load(golden.model);
    EXPECT_TRUE(files.ok());
    config_ = files->config();
    for (const Request& request : golden.requests) {
      if (!request.items.empty() && !request.candidates.empty()) sources_.push_back(request);
    }
  }

  const ModelConfig& config() const { return config_; }

  // With so many tokens in all, candidates included.
  Request Make(int64_t tokens) {
    Request request = sources_[random_() % sources_.size()];
    request.user_id.reset();
    const auto context = static_cast<int64_t>(config_.contextual_features.size());
    const int64_t per_item = config_.tokens_per_item();
    int64_t candidates = 3;
    if ((tokens - context - candidates) % per_item != 0) ++candidates;
    const int64_t items = (tokens - context - candidates) / per_item;
    Draw(&request.items, items);
    if (config_.action_feature) Draw(&request.actions, items);
    Draw(&request.candidates, candidates);
    return request;
  }

 private:
  void Draw(std::vector<int64_t>* ids, int64_t size) {
    const std::vector<int64_t> given = *ids;
    ids->clear();
    for (int64_t i = 0; i < size; ++i) ids->push_back(given[random_() % given.size()]);
  }

  std::vector<Request> sources_;
  ModelConfig config_;
  std::mt19937 random_{11};
};

// A slow build does the same with them all: it takes two.
std::vector<std::string> CompiledCases() {
  if (IsSlowBuild()) return {"hierarchical", "odd_softmax"};
  return GoldenNames();
}
std::vector<std::string> CompiledStreams() {
  if (IsSlowBuild()) return {"stream"};
  return {"stream", "stream_evict", "stream_softmax", "stream_hierarchical"};
}

class ArtifactsOf : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, ArtifactsOf, testing::ValuesIn(CompiledCases()), GoldenTestName);

// Every answer of `batches`, ranked one after the other, has the bits of the built-in path; returns
// what the engine counted.
EngineStats ExpectBuiltInBits(const GoldenCase& golden, const std::string& artifacts,
                              EngineOptions options,
                              const std::vector<std::vector<Request>>& batches) {
  Engine builtin = Load(golden.model, options);
  options.artifacts = artifacts;
  Engine compiled = Load(golden.model, options);
  for (const std::vector<Request>& batch : batches) {
    const std::vector<Answer> expected = builtin.Rank(batch);
    const std::vector<Answer> actual = compiled.Rank(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_FALSE(expected[i].error.has_value()) << expected[i].error->message;
      EXPECT_FALSE(actual[i].error.has_value()) << actual[i].error->message;
      EXPECT_TRUE(SameBits(actual[i].logits, expected[i].logits))
          << "request " << i << " of " << batch.size();
    }
  }
  return compiled.stats();
}

TEST_P(ArtifactsOf, GiveTheBitsOfTheBuiltInPathAtTheirBoundariesAndOnMisses) {
  const GoldenCase golden = LoadGolden(GetParam());
  const CompileOptions compile = SmallBuckets(golden.model, GetParam());
  Compile(compile);
  Lengths lengths(golden);
  std::vector<std::vector<Request>> batches = {golden.requests};
  for (const int64_t bucket : compile.seq_lens) {
    for (const int64_t tokens : {bucket - 1, bucket, bucket + 1}) {
      batches.push_back({lengths.Make(tokens)});
      for (const size_t sequences : {2, 3, 4}) {
        std::vector<Request>& batch = batches.emplace_back();
        for (size_t i = 0; i < sequences; ++i) batch.push_back(lengths.Make(i == 0 ? tokens : 30));
      }
    }
  }
  for (const int threads : {1, 2}) {
    EngineOptions options;
    options.threads = threads;
    const EngineStats stats = ExpectBuiltInBits(golden, compile.out, options, batches);
    EXPECT_GE(stats.artifact_hits, 20);
    EXPECT_GE(stats.artifact_misses, 4);  // the sequences of 97 tokens
    for (const BucketStats& bucket : stats.buckets) EXPECT_GT(bucket.steps, 0);
  }
}

TEST_P(ArtifactsOf, TakeTheSmallestBucketThatFits) {
  const GoldenCase golden = LoadGolden(GetParam());
  const CompileOptions compile = SmallBuckets(golden.model, GetParam());
  Compile(compile);
  Lengths lengths(golden);
  EngineOptions options;
  options.artifacts = compile.out;
  Engine engine = Load(golden.model, options);
  const auto steps = [&](int64_t seq_len, int64_t batch) {
    int64_t count = 0;
    for (const BucketStats& bucket : engine.stats().buckets) {
      if (bucket.seq_len == seq_len && bucket.batch == batch) count += bucket.steps;
    }
    return count;
  };
  engine.Rank(std::vector<Request>{lengths.Make(40)});
  EXPECT_EQ(steps(40, 1), 1);
  engine.Rank(std::vector<Request>{lengths.Make(41)});
  EXPECT_EQ(steps(96, 1), 1);
  engine.Rank(std::vector<Request>{lengths.Make(40), lengths.Make(40)});
  EXPECT_EQ(steps(40, 3), 1);
  engine.Rank(std::vector<Request>{lengths.Make(41), lengths.Make(20), lengths.Make(20)});
  EXPECT_EQ(steps(96, 3), 1);
  // More than a bucket takes: as many steps as that needs.
  engine.Rank(std::vector<Request>(4, lengths.Make(40)));
  EXPECT_EQ(steps(40, 3), 2);
  EXPECT_EQ(steps(40, 1), 2);
  EXPECT_EQ(engine.stats().artifact_hits, 11);
  EXPECT_EQ(engine.stats().artifact_misses, 0);
  engine.Rank(std::vector<Request>{lengths.Make(97), lengths.Make(20)});
  EXPECT_EQ(engine.stats().artifact_hits, 12);
  EXPECT_EQ(engine.stats().artifact_misses, 1);
}

TEST_P(ArtifactsOf, GiveTheBitsOfTheBuiltInPathInChunksAndWithTheCache) {
  const GoldenCase golden = LoadGolden(GetParam());
  const CompileOptions compile = SmallBuckets(golden.model, GetParam());
  Compile(compile);
  Lengths lengths(golden);
  std::vector<std::vector<Request>> batches;
  for (const int64_t tokens : {150, 170, 180, 230}) {
    Request request = lengths.Make(230);
    request.user_id = "u";
    const int64_t per_item = lengths.config().tokens_per_item();
    const size_t items = static_cast<size_t>((tokens - 20) / per_item);
    request.items.resize(std::min(request.items.size(), items));
    if (!request.actions.empty()) request.actions.resize(request.items.size());
    if (!batches.empty()) {  // goes on
      const Request& before = batches.back()[0];
      std::copy(before.items.begin(), before.items.end(), request.items.begin());
      std::copy(before.actions.begin(), before.actions.end(), request.actions.begin());
      request.contextual = before.contextual;
    }
    batches.push_back({request, lengths.Make(50)});
  }
  EngineOptions options;
  options.threads = 2;
  options.chunk_tokens = 60;
  const EngineStats chunks = ExpectBuiltInBits(golden, compile.out, options, batches);
  options.chunk_tokens = 0;
  options.kv_cache = true;
  const EngineStats cached = ExpectBuiltInBits(golden, compile.out, options, batches);
  if (lengths.config().contextual_mask) return;  // neither in chunks nor cached
  EXPECT_EQ(chunks.artifact_misses, 0);
  EXPECT_GE(cached.artifact_hits, 3);
}

class ArtifactsOfStream : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, ArtifactsOfStream, testing::ValuesIn(CompiledStreams()),
                         GoldenTestName);

TEST_P(ArtifactsOfStream, GiveTheBitsOfTheBuiltInPath) {
  const GoldenCase golden = LoadGolden(GetParam());
  CompileOptions compile = SmallBuckets(golden.model, GetParam());
  compile.kv_cache = true;
  Compile(compile);
  for (const int threads : {1, 2}) {
    EngineOptions options;
    options.threads = threads;
    options.kv_cache = true;
    std::vector<std::vector<Request>> batches;
    for (const Request& request : golden.requests) batches.push_back({request});
    const EngineStats stats = ExpectBuiltInBits(golden, compile.out, options, batches);
    EXPECT_GT(stats.artifact_hits, 0);
  }
}

TEST(ArtifactsInTypes, GiveTheBitsOfTheBuiltInPath) {
  const GoldenCase golden = LoadGolden("odd_softmax");
  for (const DTypes& types :
       {DTypes{"f32", "int8"}, DTypes{"bf16", "bf16"}, DTypes{"bf16", "bf16", "tiles"}}) {
    CompileOptions compile = SmallBuckets(
        golden.model,
        fmt::format("odd_softmax_{}_{}_{}", types.dtype, types.kv_dtype, types.bf16_products));
    compile.dtype = types.dtype;
    compile.kv_dtype = types.kv_dtype;
    compile.bf16_products = types.bf16_products;
    // Where the processor has no tiles, AVX2 code stands for them.
    if (!types.WorkOn(SupportedIsas().back())) compile.target = "x86-64-v3";
    compile.page_size = 64;
    Compile(compile);
    Lengths lengths(golden);
    EngineOptions options;
    types.Set(&options);
    options.page_size = 64;
    for (const bool cache : {false, true}) {
      options.kv_cache = cache;
      const EngineStats stats = ExpectBuiltInBits(
          golden, compile.out, options, {{lengths.Make(40)}, {lengths.Make(96), lengths.Make(70)}});
      EXPECT_EQ(stats.artifact_misses, 0);
    }
  }
}

// Every operator is compiled by itself and with others built in.
TEST(ArtifactsWithFallbacks, GiveTheBitsOfTheBuiltInPath) {
  const GoldenCase golden = LoadGolden("plain");
  CompileOptions compile = SmallBuckets(golden.model, "plain_fallbacks");
  compile.fallback_ops = {"hstu_attention", "linear", "layer_norm"};
  EXPECT_GT(Compile(compile).metadata.NumFallbacks(), 0);
  Lengths lengths(golden);
  ExpectBuiltInBits(golden, compile.out, {}, {{lengths.Make(40)}, {lengths.Make(90)}});
}

TEST(ArtifactsPreload, LoadsAllOrNeighboursOrWhatIsNeeded) {
  const GoldenCase golden = LoadGolden("plain");
  const CompileOptions compile = SmallBuckets(golden.model, "plain");
  Compile(compile);
  Lengths lengths(golden);
  for (const char* preload : {"all", "adjacent", "none"}) {
    EngineOptions options;
    options.preload = preload;
    const EngineStats stats = ExpectBuiltInBits(
        golden, compile.out, options,
        {{lengths.Make(40)}, {lengths.Make(90)}, {lengths.Make(30), lengths.Make(30)}});
    EXPECT_EQ(stats.artifact_misses, 0) << preload;
    EXPECT_EQ(stats.artifact_hits, 4) << preload;
  }
}

TEST(ArtifactsWarmUp, RunsEveryBucketAndLeavesNothing) {
  const GoldenCase golden = LoadGolden("kuairand");
  const CompileOptions compile = SmallBuckets(golden.model, "kuairand");
  Compile(compile);
  TestFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(compile.out)) {
    if (entry.is_regular_file()) std::filesystem::copy(entry.path(), folder.path());
  }
  EngineOptions options;
  options.artifacts = folder.path();
  options.kv_cache = true;
  options.preload = "none";
  Engine engine = Load(golden.model, options);
  const Status status = engine.WarmUp(golden.requests);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const EngineStats stats = engine.stats();
  EXPECT_EQ(stats.steps, 0);
  EXPECT_EQ(stats.kv_users, 0);
  EXPECT_EQ(stats.artifact_hits + stats.artifact_misses, 0);
  EXPECT_FALSE(engine.WarmUp(std::vector<Request>(2)).ok());
  // Every library is loaded: none is missed.
  for (const BucketStats& bucket : stats.buckets) {
    std::filesystem::remove(folder / fmt::format("bucket_{}_{}.so", bucket.seq_len, bucket.batch));
  }
  Lengths lengths(golden);
  engine.Rank(std::vector<Request>{lengths.Make(40)});
  engine.Rank(std::vector<Request>{lengths.Make(96)});
  engine.Rank(std::vector<Request>(3, lengths.Make(40)));
  engine.Rank(std::vector<Request>(3, lengths.Make(96)));
  EXPECT_EQ(engine.stats().artifact_hits, 8);
}

class EagerOn : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, EagerOn, testing::ValuesIn(GoldenNames()), GoldenTestName);

TEST_P(EagerOn, GivesTheGoldenLogits) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const Isa isa : SupportedIsas()) {
    const auto eager = Eager::Load(golden.model, isa, 2);
    ASSERT_TRUE(eager.ok()) << eager.error().message;
    for (size_t i = 0; i < golden.requests.size(); ++i) {
      const Result<Answer> answer = eager.value()->Rank(golden.requests[i]);
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      ASSERT_EQ(answer->logits.size(), golden.logits[i].size());
      for (size_t j = 0; j < answer->logits.size(); ++j) {
        ASSERT_NEAR(answer->logits[j], golden.logits[i][j], 2e-4) << "request " << i;
      }
    }
    EXPECT_GT(eager.value()->peak_bytes(), 0);
  }
}

}  // namespace
}  // namespace hstu
