// What ranks compute together is what one computes: here ranks are threads.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <thread>

#include "ranks/thread_communicator.h"
#include "tests/artifacts.h"
#include "tests/golden.h"

namespace hstu {
namespace {

using testing::HasSubstr;

using Answers = std::vector<Answer>;

// Calls body with rank 0's engine; the others follow it.
void OnRanks(const std::string& model, const EngineOptions& given, int ranks,
             const std::function<void(Engine&)>& body) {
  auto world = MakeThreadCommunicators(ranks);
  std::vector<std::thread> threads;
  for (auto& rank : world) {
    threads.emplace_back([&, communicator = std::shared_ptr<Communicator>(std::move(rank))] {
      EngineOptions options = given;
      options.threads = 1 + communicator->rank() % 2;  // ranks need not be alike
      options.communicator = communicator;
      Engine engine = Load(model, options);
      engine.follows() ? engine.Follow() : body(engine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All requests at once, then again: with a KV cache the second time from what is kept.
std::vector<Answers> RankTwice(Engine& engine, const std::vector<Request>& requests) {
  return {engine.Rank(requests), engine.Rank(requests)};
}

std::vector<Answers> OneRank(const std::string& model, const EngineOptions& options,
                             const std::vector<Request>& requests) {
  Engine engine = Load(model, options);
  return RankTwice(engine, requests);
}

// Within `tolerance` of the largest logit; 0: the same bits.
void ExpectAnswers(const std::vector<Answers>& actual, const std::vector<Answers>& expected,
                   float tolerance) {
  for (size_t round = 0; round < expected.size(); ++round) {
    ASSERT_EQ(actual[round].size(), expected[round].size());
    for (size_t i = 0; i < expected[round].size(); ++i) {
      const Answer& a = actual[round][i];
      const Answer& b = expected[round][i];
      ASSERT_EQ(a.error.has_value(), b.error.has_value());
      ASSERT_EQ(a.cached_tokens, b.cached_tokens);
      ASSERT_EQ(a.logits.size(), b.logits.size());
      if (tolerance == 0.0f) {
        ASSERT_TRUE(SameBits(a.logits, b.logits)) << "round " << round << ", request " << i;
        continue;
      }
      float largest = 0.0f;
      for (const float logit : b.logits) largest = std::max(largest, std::fabs(logit));
      for (size_t j = 0; j < b.logits.size(); ++j) {
        ASSERT_NEAR(a.logits[j], b.logits[j], tolerance * largest)
            << "round " << round << ", request " << i;
      }
    }
  }
}

void ExpectAsOneRank(const std::string& model, const EngineOptions& options, int ranks,
                     const std::vector<Request>& requests, float tolerance) {
  EngineOptions alone = options;
  alone.embed_tp_size = alone.sp_size = alone.heads_tp_size = 1;
  alone.dp = false;
  const std::vector<Answers> expected = OneRank(model, alone, requests);
  OnRanks(model, options, ranks,
          [&](Engine& engine) { ExpectAnswers(RankTwice(engine, requests), expected, tolerance); });
}

// Histories over several chunks of keys beside the golden ones.
std::vector<Request> LongRequests(const GoldenCase& golden) {
  std::vector<Request> requests = golden.requests;
  for (const size_t items : {200, 560}) {
    Request request = golden.requests.back();
    request.user_id = "long" + std::to_string(items);
    const auto repeat = [&](std::vector<int64_t>* ids, size_t size) {
      const std::vector<int64_t> given = *ids;
      for (size_t i = given.size(); !given.empty() && i < size; ++i) {
        ids->push_back(given[i * 7 % given.size()]);
      }
    };
    repeat(&request.items, items);
    repeat(&request.actions, items);
    requests.push_back(request);
  }
  return requests;
}

class Ranks : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Ranks, testing::ValuesIn(GoldenNames()), GoldenTestName);

TEST_P(Ranks, ThatShareTablesGiveTheBitsOfOne) {
  const GoldenCase golden = LoadGolden(GetParam());
  const std::vector<Request> requests = LongRequests(golden);
  for (const int ranks : {2, 3}) {
    for (const char* fused : {"all", "none"}) {
      EngineOptions options;
      options.embed_tp_size = ranks;
      options.embed_tp_min_rows = ranks == 2 ? 1 : 20;
      options.kv_cache = ranks == 2;
      options.chunk_tokens = ranks == 2 ? 0 : 301;
      options.fused_ops = fused;
      if (options.fused_ops == "none" && ranks == 3) continue;  // slow, and the same
      ExpectAsOneRank(golden.model, options, ranks,
                      options.fused_ops == "none" ? golden.requests : requests, 0.0f);
    }
  }
}

TEST_P(Ranks, ThatShareKeysChunkByChunkGiveTheBitsOfOne) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const char* kv_dtype : {"f32", "int8"}) {
    EngineOptions options;
    options.sp_size = 2;
    options.sp_exact = true;
    options.kv_cache = true;
    options.kv_dtype = kv_dtype;
    ExpectAsOneRank(golden.model, options, 2, LongRequests(golden), 0.0f);
  }
}

TEST_P(Ranks, ThatShareKeysAndMergeTheirPartsAreClose) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const int ranks : {2, 3}) {
    EngineOptions options;
    options.sp_size = ranks;
    options.kv_cache = ranks == 2;
    options.chunk_tokens = ranks == 2 ? 0 : 301;
    ExpectAsOneRank(golden.model, options, ranks, LongRequests(golden), 1e-5f);
  }
}

TEST_P(Ranks, ThatShareHeadsAreClose) {
  const GoldenCase golden = LoadGolden(GetParam());
  EngineOptions options;
  options.heads_tp_size = 2;
  options.kv_cache = true;
  std::ifstream config(golden.model + "/config.json");
  if (nlohmann::json::parse(config).at("num_attention_heads").get<int>() % 2 != 0) return;
  ExpectAsOneRank(golden.model, options, 2, LongRequests(golden), 1e-5f);
}

TEST_P(Ranks, ThatShareUsersGiveTheBitsOfOne) {
  const GoldenCase golden = LoadGolden(GetParam());
  EngineOptions options;
  options.dp = true;
  options.kv_cache = true;
  ExpectAsOneRank(golden.model, options, 3, golden.requests, 0.0f);
}

TEST(RankGroups, ThatShareTablesAndKeysRunArtifacts) {
  const GoldenCase golden = LoadGolden("softmax");
  CompileOptions compile = SmallBuckets(golden.model, "softmax_ranks");
  compile.seq_lens = {512};
  compile.batches = {8};
  compile.kv_cache = true;
  Compile(compile);
  EngineOptions options;
  options.artifacts = compile.out;
  options.kv_cache = true;
  options.embed_tp_size = 2;
  options.embed_tp_min_rows = 1;
  options.sp_size = 2;
  options.sp_exact = true;
  ExpectAsOneRank(golden.model, options, 2, LongRequests(golden), 0.0f);
  OnRanks(golden.model, options, 2, [&](Engine& engine) {
    engine.Rank(golden.requests);
    EXPECT_GT(engine.stats().artifact_hits, 0);
  });
}

TEST(RankGroups, ShareAllAtOnce) {
  const GoldenCase golden = LoadGolden("softmax");
  EngineOptions options;
  options.dp = true;
  options.embed_tp_size = 2;
  options.embed_tp_min_rows = 1;
  options.sp_size = 2;
  options.heads_tp_size = 2;
  options.kv_cache = true;
  options.profile = true;
  OnRanks(golden.model, options, 8, [&](Engine& engine) {
    EngineOptions alone;
    alone.kv_cache = true;
    const std::vector<Request> requests = LongRequests(golden);
    ExpectAnswers(RankTwice(engine, requests), OneRank(golden.model, alone, requests), 1e-5f);
    for (const char* name : {"gather_rows", "gather_attention", "gather_heads", "layer 0"}) {
      EXPECT_THAT(engine.ProfileTable(), HasSubstr(name));
    }
    EXPECT_THAT(engine.ProfileTrace(), HasSubstr("gather_attention"));
  });
}

// Each rank has a part of a user's pages: the pool of one alone couldn't hold the longest user.
TEST(RankGroups, ThatShareKeysKeepMoreUsers) {
  const GoldenCase golden = LoadGolden("plain");
  std::vector<Request> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(LongRequests(golden).back());
    requests.back().user_id = "user" + std::to_string(i);
  }
  EngineOptions options;
  options.kv_cache = true;
  options.kv_pages = 80;
  const Result<Engine> alone = Engine::Load(golden.model, options);
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.error().message, HasSubstr("kv_pages 80"));
  options.sp_size = 2;
  OnRanks(golden.model, options, 2, [&](Engine& engine) {
    RankTwice(engine, requests);
    EXPECT_EQ(engine.stats().kv_users, 3);
    EXPECT_EQ(engine.stats().kv_users_evicted, 0);
  });
}

// Where users are bounded, all ranks let the same ones go.
TEST(RankGroups, ThatShareKeysBoundUsersAlike) {
  for (const char* name : {"kuairand", "hierarchical"}) {
    const GoldenCase golden = LoadGolden(name);
    std::vector<Request> requests;
    for (size_t i = 0; i < 60; ++i) {
      requests.push_back(golden.requests[i % golden.requests.size()]);
      requests.back().user_id = "user" + std::to_string(i % 40);
    }
    EngineOptions options;
    options.kv_dtype = "int8";
    const std::vector<Answers> expected = OneRank(golden.model, options, requests);
    options.kv_cache = true;
    options.kv_pages = 80;
    options.sp_size = 2;
    options.sp_exact = true;
    OnRanks(golden.model, options, 2, [&](Engine& engine) {
      const std::vector<Answers> actual = RankTwice(engine, requests);
      for (size_t round = 0; round < 2; ++round) {
        for (size_t i = 0; i < requests.size(); ++i) {
          EXPECT_TRUE(SameBits(actual[round][i].logits, expected[round][i].logits)) << i;
        }
      }
      EXPECT_GT(engine.stats().kv_users_evicted, 0) << name;
      EXPECT_LT(engine.stats().kv_users, 40) << name;
    });
  }
}

// Errors of loading, by what they say.
std::string LoadError(EngineOptions options, int ranks) {
  auto world = MakeThreadCommunicators(ranks);
  options.communicator = std::move(world[0]);
  const Result<Engine> engine = Engine::Load(LoadGolden("plain").model, options);
  return engine.ok() ? "" : engine.error().message;
}

TEST(RankGroups, ThatDontDivideAreRefusedBeforeLoading) {
  EngineOptions options;
  options.heads_tp_size = 7;
  EXPECT_THAT(LoadError(options, 7), HasSubstr("heads-tp-size 7 doesn't divide"));
  options = {};
  options.sp_size = 2;
  EXPECT_THAT(LoadError(options, 3), HasSubstr("ranks: 3 don't divide"));
  EXPECT_THAT(LoadError(options, 3), HasSubstr("mpirun -np 2"));
  EXPECT_THAT(LoadError(options, 4), HasSubstr("--dp"));
  options.dp = true;
  EXPECT_THAT(LoadError(options, 3), HasSubstr("ranks: 3 don't divide"));
  options.host_bytes = 1;
  options.kv_cache = true;
  EXPECT_THAT(LoadError(options, 2), HasSubstr("host-bytes"));
  options = {};
  options.heads_tp_size = 2;
  options.artifacts = "artifacts";
  EXPECT_THAT(LoadError(options, 2), HasSubstr("artifacts hold all heads"));
  options = {};
  options.sp_size = 0;
  EXPECT_THAT(LoadError(options, 1), HasSubstr("sp-size 0"));
}

TEST(RankGroups, ARequestThatCantBeAnsweredDisturbsNobody) {
  const GoldenCase golden = LoadGolden("kuairand");
  std::vector<Request> requests = golden.requests;
  requests[0].items.push_back(int64_t{1} << 40);
  EngineOptions options;
  options.dp = true;
  options.embed_tp_size = 2;
  options.embed_tp_min_rows = 1;
  ExpectAsOneRank(golden.model, options, 4, requests, 0.0f);
}

}  // namespace
}  // namespace hstu
