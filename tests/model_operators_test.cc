// A model with operators from a library, examples/operator: in the engine, in the cache, compiled,
// in the eager interpreter and in the reference of streams.
#include "model/model_operators.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "accept/reference_session.h"
#include "base/test_files.h"
#include "base/thread_pool.h"
#include "compile/eager.h"
#include "kernels/operator_library.h"
#include "model/model.h"
#include "tests/artifacts.h"
#include "tests/golden.h"

namespace hstu {
namespace {

using testing::HasSubstr;

class ModelOperatorsTest : public testing::Test {
 protected:
  ModelOperatorsTest() {
    std::filesystem::create_directories(folder_ / "operators");
    std::filesystem::copy_file(HSTU_CLIP_LIBRARY, folder_ / "operators/libclip.so");
    options_.operator_path = folder_ / "operators";
    options_.threads = 2;
  }

  // A copy of the golden case's model that clips its embeddings and what enters its head.
  GoldenCase Clipped(const std::string& name) {
    GoldenCase golden = LoadGolden(name);
    const std::string model = folder_ / name;
    std::filesystem::copy(golden.model, model, std::filesystem::copy_options::recursive);
    std::ifstream in(model + "/config.json");
    auto config = nlohmann::json::parse(in);
    config["embedding_operators"] = {"clip"};
    config["head_operators"] = {"clip"};
    std::ofstream(model + "/config.json") << config;
    golden.model = model;
    return golden;
  }

  Result<ModelOperators> Find(const ModelConfig& config) const {
    const Result<OperatorRegistry> registry = AllOperators(options_.operator_path);
    if (!registry.ok()) return registry.error();
    return FindModelOperators(config, registry.value());
  }

  std::vector<Answer> Rank(const GoldenCase& golden, const EngineOptions& options) {
    Engine engine = Load(golden, options);
    return engine.Rank(golden.requests);
  }

  TestFolder folder_;
  EngineOptions options_;
};

void ExpectSameBits(const std::vector<Answer>& a, const std::vector<Answer>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_FALSE(a[i].error.has_value()) << a[i].error->message;
    ASSERT_FALSE(b[i].error.has_value()) << b[i].error->message;
    EXPECT_TRUE(SameBits(a[i].logits, b[i].logits)) << i;
  }
}

TEST_F(ModelOperatorsTest, GiveTheSameBitsInAnyChunksThreadsAndBatches) {
  const GoldenCase golden = Clipped("odd");
  const std::vector<Answer> whole = Rank(golden, options_);
  EXPECT_FALSE(SameBits(whole[0].logits, Rank(LoadGolden("odd"), {})[0].logits));
  EngineOptions chunked = options_;
  chunked.threads = 1;
  chunked.chunk_tokens = 7;
  ExpectSameBits(Rank(golden, chunked), whole);
  Engine engine = Load(golden, options_);
  for (size_t i = 0; i < golden.requests.size(); ++i) {
    ExpectSameBits(engine.Rank({&golden.requests[i], 1}), {whole[i]});
  }
}

TEST_F(ModelOperatorsTest, AreWithinToleranceInBf16) {
  const GoldenCase golden = Clipped("plain");
  const std::vector<Answer> f32 = Rank(golden, options_);
  options_.dtype = "bf16";
  const std::vector<Answer> bf16 = Rank(golden, options_);
  for (size_t i = 0; i < f32.size(); ++i) {
    ASSERT_FALSE(bf16[i].error.has_value()) << bf16[i].error->message;
    for (size_t j = 0; j < f32[i].logits.size(); ++j) {
      EXPECT_NEAR(bf16[i].logits[j], f32[i].logits[j], 3e-2);
    }
  }
}

TEST_F(ModelOperatorsTest, AreThoseOfTheReferenceInStreamsWithACache) {
  const GoldenCase golden = Clipped("stream_evict");
  const Result<Model> model = Model::Load(golden.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Result<ModelOperators> operators = Find(model->config());
  ASSERT_TRUE(operators.ok()) << operators.error().message;
  ThreadPool pool(2);
  std::map<std::string, ReferenceSession> sessions;
  options_.kv_cache = true;
  options_.page_size = 32;
  Engine engine = Load(golden, options_);
  for (const Request& request : golden.requests) {
    auto& session =
        sessions.try_emplace(*request.user_id, model.value(), operators.value(), 32, &pool)
            .first->second;
    const Result<std::vector<double>> expected = session.Rank(request);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const Answer answer = engine.Rank({&request, 1})[0];
    ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
    for (size_t j = 0; j < answer.logits.size(); ++j) {
      EXPECT_NEAR(answer.logits[j], expected.value()[j], 1e-5);
    }
  }
}

TEST_F(ModelOperatorsTest, AreFallbacksOfCompiledModelsAndRunInTheEagerInterpreter) {
  const GoldenCase golden = Clipped("plain");
  CompileOptions compile = SmallBuckets(golden.model, "plain_clipped");
  compile.seq_lens = {96};
  compile.batches = {3};
  const Metadata metadata = Compile(compile).metadata;
  // Two in a bucket.
  EXPECT_EQ(metadata.NumFallbacks(), 2 * static_cast<int64_t>(metadata.buckets.size()));
  EXPECT_GT(metadata.FallbackShare(), 0.05);
  const std::vector<Answer> builtin = Rank(golden, options_);
  options_.artifacts = compile.out;
  ExpectSameBits(Rank(golden, options_), builtin);
  const auto eager = Eager::Load(golden.model, SupportedIsas().back(), 2, options_.operator_path);
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  for (size_t i = 0; i < golden.requests.size(); ++i) {
    const Result<Answer> answer = eager.value()->Rank(golden.requests[i]);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    for (size_t j = 0; j < answer->logits.size(); ++j) {
      EXPECT_NEAR(answer->logits[j], builtin[i].logits[j], 1e-5);
    }
  }
}

TEST_F(ModelOperatorsTest, ThatNobodyOffersAreRefusedBeforeWeightsAreRead) {
  const GoldenCase golden = Clipped("plain");
  const Result<Engine> engine = Engine::Load(golden.model);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, ErrorCode::kBadArgument);
  EXPECT_THAT(engine.error().message, HasSubstr("embedding_operators: no operator \"clip\""));
  EXPECT_THAT(engine.error().message, HasSubstr("--operator-path"));
}

TEST_F(ModelOperatorsTest, BuiltInOnesAreNoRowOperators) {
  ModelConfig config;
  config.head_operators = {"linear"};
  const Result<ModelOperators> found = Find(config);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message, HasSubstr("head_operators: \"linear\" is built in"));
}

TEST_F(ModelOperatorsTest, OfOtherCodeHaveAnotherIdentity) {
  const std::string file = folder_ / "operators/libclip.so";
  const auto identity = [&] { return IdentityOf({{"clip", file, nullptr}}).value(); };
  const std::string before = identity();
  EXPECT_EQ(identity(), before);
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_NE(identity(), before);
  EXPECT_FALSE(IdentityOf({{"clip", folder_ / "none", nullptr}}).ok());
}

}  // namespace
}  // namespace hstu
