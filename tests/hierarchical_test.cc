// Hierarchical models past max_history_tokens and edited in the middle: every answer is the
// reference's, and bit for bit that of an engine that computes the same in other chunks.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/cpu.h"
#include "tests/golden.h"

namespace hstu {
namespace {

struct Case {
  const char* model;
  int page_size;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.model) + "_" + std::to_string(info.param.page_size);
}

class Streams : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, Streams,
                         testing::Values(Case{"overlap", 32}, Case{"overlap", 64},
                                         Case{"overlap", 128}, Case{"three", 32}, Case{"three", 64},
                                         Case{"three", 128}, Case{"odd_strides", 32},
                                         Case{"odd_strides", 64}, Case{"odd_strides", 128},
                                         Case{"every_token", 32}, Case{"every_token", 64},
                                         Case{"every_token", 128}),
                         CaseName);

std::string Folder(const std::string& model) {
  return std::string(HSTU_GOLDEN_DIR) + "/streams/" + model;
}

GoldenCase LoadStream(const Case& which, const std::string& kind) {
  const std::string page = std::to_string(which.page_size);
  return LoadLines(Folder(which.model) + "/model",
                   Folder(which.model) + "/" + kind + "_" + page + ".jsonl");
}

EngineOptions RandomOptions(const Case& which, std::mt19937* random) {
  EngineOptions options;
  options.page_size = which.page_size;
  options.threads = 1 + static_cast<int>((*random)() % 2);
  options.chunk_tokens = (*random)() % 3 == 0 ? 0 : 1 + (*random)() % 50;
  options.max_step_tokens = 3 + (*random)() % 200;
  return options;
}

void ExpectReference(const Answer& answer, const GoldenCase& golden, size_t i,
                     double tolerance = 2e-4) {
  ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
  ASSERT_EQ(answer.evicted_tokens, golden.evicted_tokens[i]) << "request " << i;
  ASSERT_EQ(answer.logits.size(), golden.logits[i].size());
  for (size_t j = 0; j < answer.logits.size(); ++j) {
    ASSERT_NEAR(answer.logits[j], golden.logits[i][j], tolerance) << "request " << i;
  }
}

TEST_P(Streams, EveryStepIsTheReferencesOnEveryIsaFusedAndPlain) {
  const GoldenCase golden = LoadStream(GetParam(), "stream");
  std::mt19937 random(1);
  for (const Isa isa : SupportedIsas()) {
    for (const char* fused : {"all", "none"}) {
      EngineOptions options = RandomOptions(GetParam(), &random);
      options.isa = IsaName(isa);
      options.fused_ops = fused;
      options.kv_cache = true;
      Engine engine = Load(golden.model, options);
      for (size_t i = 0; i < golden.requests.size(); ++i) {
        ExpectReference(engine.Rank({&golden.requests[i], 1})[0], golden, i);
      }
    }
  }
}

TEST_P(Streams, EveryStepIsTheReferencesInEveryTypeOfActivationsKeysAndValues) {
  const GoldenCase golden = LoadStream(GetParam(), "stream");
  std::mt19937 random(5);
  for (const DTypes& types : AllDTypes()) {
    EngineOptions options = RandomOptions(GetParam(), &random);
    options.kv_cache = true;
    types.Set(&options);
    SCOPED_TRACE(options.dtype + ", K and V " + options.kv_dtype);
    Engine engine = Load(golden.model, options);
    for (size_t i = 0; i < golden.requests.size(); ++i) {
      ExpectReference(engine.Rank({&golden.requests[i], 1})[0], golden, i, types.tolerance());
    }
  }
}

TEST_P(Streams, EveryStepHasTheSameBitsInOtherChunksAndBatches) {
  const GoldenCase golden = LoadStream(GetParam(), "stream");
  std::mt19937 random(2);
  for (int round = 0; round < Rounds(10); ++round) {
    const DTypes& types = AllDTypes()[round % AllDTypes().size()];
    EngineOptions options;
    options.page_size = GetParam().page_size;
    options.kv_cache = true;
    types.Set(&options);
    Engine plain = Load(golden.model, options);
    const std::vector<Answer> expected = plain.Rank(golden.requests);
    options = RandomOptions(GetParam(), &random);
    options.kv_cache = true;
    types.Set(&options);
    Engine engine = Load(golden.model, options);
    for (size_t first = 0; first < golden.requests.size();) {
      // Users go side by side, and several of their appends in a batch.
      const size_t count = std::min<size_t>(1 + random() % 4, golden.requests.size() - first);
      std::vector<Request> batch;
      for (size_t i = first; i < first + count; ++i) {
        for (const char* user : {"a", "b"}) {
          batch.push_back(golden.requests[i]);
          batch.back().user_id = user;
        }
      }
      const std::vector<Answer> answers = engine.Rank(batch);
      for (size_t i = 0; i < answers.size(); ++i) {
        ASSERT_FALSE(answers[i].error.has_value()) << answers[i].error->message;
        ASSERT_TRUE(SameBits(answers[i].logits, expected[first + i / 2].logits))
            << types.dtype << ", K and V " << types.kv_dtype << ", request " << first + i / 2;
      }
      first += count;
    }
  }
}

TEST_P(Streams, WholeHistoriesAreTruncatedAsTheReferenceDoes) {
  const GoldenCase golden = LoadStream(GetParam(), "whole");
  std::mt19937 random(3);
  for (const bool cached : {false, true}) {
    for (int round = 0; round < Rounds(10); ++round) {
      const DTypes& types = AllDTypes()[round % AllDTypes().size()];
      EngineOptions options = RandomOptions(GetParam(), &random);
      options.truncate = true;
      options.kv_cache = cached;
      types.Set(&options);
      Engine engine = Load(golden.model, options);
      for (size_t i = 0; i < golden.requests.size(); ++i) {
        Request request = golden.requests[i];
        request.user_id = std::to_string(i);
        ExpectReference(engine.Rank({&request, 1})[0], golden, i, types.tolerance());
      }
    }
  }
}

// Continued histories that replace what is known from anywhere on: the request doesn't hold the
// tokens that have to be computed again before its own.
TEST_P(Streams, AnEditedHistoryHasTheBitsOfAFreshEngine) {
  const GoldenCase golden = LoadStream(GetParam(), "stream");
  std::mt19937 random(4);
  constexpr size_t kMostItems = 50;  // within the limit of all models
  for (int round = 0; round < Rounds(10); ++round) {
    const DTypes& types = AllDTypes()[round % AllDTypes().size()];
    EngineOptions options;
    options.page_size = GetParam().page_size;
    types.Set(&options);
    Engine fresh = Load(golden.model, options);
    options = RandomOptions(GetParam(), &random);
    options.kv_cache = true;
    types.Set(&options);
    Engine engine = Load(golden.model, options);
    Request whole = golden.requests[0];
    whole.user_id = "u";
    whole.history_start.reset();
    whole.items.clear();
    whole.actions.clear();
    whole.candidates = {1, 2, 3};
    for (int step = 0; step < 40; ++step) {
      const size_t start =
          random() % 3 == 0 ? random() % (whole.items.size() + 1) : whole.items.size();
      const size_t overlap = random() % (start + 1) / 2;
      whole.items.resize(start);
      whole.actions.resize(start);
      while (whole.items.size() < kMostItems && random() % 8 != 0) {
        whole.items.push_back(static_cast<int64_t>(random() % 40));
        whole.actions.push_back(static_cast<int64_t>(random() % 40));
      }
      Request continued = whole;
      const size_t from = start - overlap;
      if (random() % 4 != 0) {
        continued.history_start = static_cast<int64_t>(from);
        continued.items.erase(continued.items.begin(), continued.items.begin() + from);
        continued.actions.erase(continued.actions.begin(), continued.actions.begin() + from);
        // What is known and not contradicted stays.
        if (whole.items.size() == start) continue;
      }
      const Answer actual = engine.Rank({&continued, 1})[0];
      ASSERT_FALSE(actual.error.has_value()) << actual.error->message;
      ASSERT_TRUE(SameBits(actual.logits, fresh.Rank({&whole, 1})[0].logits))
          << types.dtype << ", K and V " << types.kv_dtype << ", step " << step;
    }
  }
}

// Windows of 8, strides of 4: a difference within 8 tokens of the first kept one would need outputs
// of tokens that are gone.
TEST(Hierarchical, AStateThatNeedsEvictedTokensIsDropped) {
  const GoldenCase golden = LoadStream({"overlap", 32}, "stream");
  for (const int64_t behind : {0, 1, 2, 3, 4, 5}) {  // items
    EngineOptions options;
    options.kv_cache = true;
    Engine engine = Load(golden.model, options);
    const std::vector<Answer> answers = engine.Rank(golden.requests);
    const int64_t first = answers.back().evicted_tokens;
    ASSERT_GT(first, 0);
    Request edit = golden.requests[0];
    edit.history_start = first / 2 + behind;
    edit.items = {39, 39, 39};
    edit.actions = {39, 39, 39};
    const Answer answer = engine.Rank({&edit, 1})[0];
    ASSERT_EQ(answer.error.has_value(), behind < 4) << behind;
    if (behind < 4) {
      EXPECT_EQ(answer.error->code, ErrorCode::kHistoryNotCached);
      EXPECT_THAT(answer.error->message, testing::HasSubstr("the state is dropped"));
      EXPECT_EQ(engine.stats().kv_users, 0);
    }
  }
}

TEST(Hierarchical, ANewTokenComputesJustItself) {
  const GoldenCase golden = LoadGolden("hierarchical");
  EngineOptions options;
  options.kv_cache = true;
  Engine engine = Load(golden.model, options);
  Request request = golden.requests[7];
  engine.Rank({&request, 1});
  const int64_t known = 3 + 2 * static_cast<int64_t>(request.items.size());
  request.items.push_back(1);
  request.actions.push_back(1);
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, known);
  // Windows of 4 by 4 and 3 by 2: 145 tokens are 36 windows, of which the next stage's 18th
  // token, still incomplete, begins at the 34th.
  request.items.back() = 2;
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, 34 * 4);
}

}  // namespace
}  // namespace hstu
