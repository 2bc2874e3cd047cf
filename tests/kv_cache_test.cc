// The engine with its KV cache: golden streams, and answers that are bit for bit those of a fresh
// engine however users are cached, evicted, edited and batched.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "base/cpu.h"
#include "tests/golden.h"

namespace hstu {
namespace {

using testing::HasSubstr;

EngineOptions Cached() {
  EngineOptions options;
  options.kv_cache = true;
  return options;
}

class GoldenStream : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, GoldenStream,
                         testing::Values("stream", "stream_evict", "stream_softmax",
                                         "stream_hierarchical"),
                         GoldenTestName);

TEST_P(GoldenStream, HoldsFusedAndPlainOnEveryIsaInAnyBatches) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const Isa isa : SupportedIsas()) {
    for (const char* fused : {"all", "none"}) {
      for (const size_t batch : {size_t{1}, size_t{5}, golden.requests.size()}) {
        if (isa == Isa::kScalar && batch == 1 && IsSlowBuild()) continue;
        EngineOptions options = Cached();
        options.isa = IsaName(isa);
        options.fused_ops = fused;
        Engine engine = Load(golden.model, options);
        for (size_t first = 0; first < golden.requests.size(); first += batch) {
          const size_t count = std::min(batch, golden.requests.size() - first);
          const auto answers = engine.Rank(std::span(golden.requests).subspan(first, count));
          for (size_t i = 0; i < count; ++i) {
            ASSERT_FALSE(answers[i].error.has_value()) << answers[i].error->message;
            ASSERT_EQ(answers[i].logits.size(), golden.logits[first + i].size());
            for (size_t j = 0; j < answers[i].logits.size(); ++j) {
              ASSERT_NEAR(answers[i].logits[j], golden.logits[first + i][j], 2e-4);
            }
          }
        }
      }
    }
  }
}

TEST_P(GoldenStream, HoldsInEveryTypeOfActivationsKeysAndValues) {
  const GoldenCase golden = LoadGolden(GetParam());
  for (const DTypes& types : AllDTypes()) {
    for (const char* fused : {"all", "none"}) {
      EngineOptions options = Cached();
      options.fused_ops = fused;
      types.Set(&options);
      Engine engine = Load(golden.model, options);
      for (size_t i = 0; i < golden.requests.size(); ++i) {
        const Answer answer = engine.Rank({&golden.requests[i], 1})[0];
        ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
        for (size_t j = 0; j < answer.logits.size(); ++j) {
          ASSERT_NEAR(answer.logits[j], golden.logits[i][j], types.tolerance())
              << types.dtype << ", K and V " << types.kv_dtype;
        }
      }
    }
  }
}

// Sending a request twice changes nothing.
TEST_P(GoldenStream, IsTheSameWhenEveryRequestIsSentTwice) {
  const GoldenCase golden = LoadGolden(GetParam());
  Engine once = Load(golden.model, Cached());
  Engine twice = Load(golden.model, Cached());
  for (const Request& request : golden.requests) {
    const Answer expected = once.Rank({&request, 1})[0];
    const Answer first = twice.Rank({&request, 1})[0];
    const Answer second = twice.Rank({&request, 1})[0];
    ASSERT_TRUE(SameBits(first.logits, expected.logits));
    ASSERT_TRUE(SameBits(second.logits, expected.logits));
    ASSERT_EQ(second.history_items, expected.history_items);
  }
}

class CachedGolden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, CachedGolden, testing::ValuesIn(GoldenNames()), GoldenTestName);

// Users whose histories grow, shrink, are edited and change their profile, in a pool that holds few
// of them: every answer has the bits of an engine that caches nothing.
TEST_P(CachedGolden, EveryAnswerHasTheBitsOfAFreshEngine) {
  const GoldenCase golden = LoadGolden(GetParam());
  const Request& longest = golden.requests.back();
  const auto seeds = static_cast<unsigned>(Rounds(14));
  int64_t evicted = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    // A case that runs few seeds begins with types of its own.
    const DTypes& types = AllDTypes()[(seed + GetParam().size()) % AllDTypes().size()];
    EngineOptions uncached;
    types.Set(&uncached);
    Engine fresh = Load(golden.model, uncached);
    EngineOptions options = Cached();
    types.Set(&options);
    options.kv_pages = 129 + random() % 9;  // one user needs 129
    options.page_size = 32;
    options.threads = 1 + static_cast<int>(random() % 2);
    options.chunk_tokens = random() % 2 == 0 ? 0 : 20 + random() % 100;
    Engine engine = Load(golden.model, options);
    std::map<std::string, Request> users;
    for (int step = 0; step < 15; ++step) {
      std::vector<Request> batch;
      for (int i = 0; i < 4; ++i) {
        const std::string id = "u" + std::to_string(random() % 12);
        Request& user = users.try_emplace(id, golden.requests[random() % 9]).first->second;
        user.user_id = id;
        const size_t grow = random() % 160;
        for (size_t k = 0; k < grow && user.items.size() < 700; ++k) {
          user.items.push_back(longest.items[random() % longest.items.size()]);
          if (!longest.actions.empty()) {
            user.actions.push_back(longest.actions[random() % longest.actions.size()]);
          }
        }
        if (random() % 5 == 0 && !user.items.empty()) {
          user.items[random() % user.items.size()] = longest.items[0];
        }
        if (random() % 7 == 0) {
          user.items.resize(user.items.size() / 2);
          user.actions.resize(user.actions.size() / 2);
        }
        if (random() % 9 == 0 && !user.contextual.empty()) user.contextual[1].second ^= 1;
        batch.push_back(user);
      }
      const std::vector<Answer> actual = engine.Rank(batch);
      const std::vector<Answer> expected = fresh.Rank(batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        ASSERT_FALSE(actual[i].error.has_value()) << actual[i].error->message;
        ASSERT_TRUE(SameBits(actual[i].logits, expected[i].logits))
            << "seed " << seed << ", " << types.dtype << ", K and V " << types.kv_dtype << ", step "
            << step << ", request " << i;
      }
    }
    evicted += engine.stats().kv_users_evicted;
  }
  if (GetParam() != "contextual_mask" && seeds > 2) {
    EXPECT_GT(evicted, 0);
  }
}

TEST(KvCache, CountsWhatItDidNotCompute) {
  const GoldenCase golden = LoadGolden("kuairand");
  Engine engine = Load(golden.model, Cached());
  Request request = golden.requests[7];
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, 0);
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, 3 + 2 * 70);
  request.items[60] += 1;
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, 3 + 2 * 60);
  request.user_id.reset();
  EXPECT_EQ(engine.Rank({&request, 1})[0].cached_tokens, 0);
  EXPECT_EQ(engine.stats().kv_users, 1);
}

TEST(KvCache, RefusesWhatItCannotContinueAndKeepsTheState) {
  const GoldenCase golden = LoadGolden("kuairand");
  Engine engine = Load(golden.model, Cached());
  Request request = golden.requests[5];
  const Answer expected = engine.Rank({&request, 1})[0];
  Request gap = request;
  gap.history_start = 33;
  const Answer refused = engine.Rank({&gap, 1})[0];
  ASSERT_TRUE(refused.error.has_value());
  EXPECT_EQ(refused.error->code, ErrorCode::kHistoryNotCached);
  EXPECT_THAT(refused.error->message, HasSubstr("history_start 33: 32 items"));
  Request bad = request;
  bad.items.push_back(5000);
  bad.actions.push_back(1);
  EXPECT_TRUE(engine.Rank({&bad, 1})[0].error.has_value());
  Request nothing = request;
  nothing.history_start = 32;
  nothing.items.clear();
  nothing.actions.clear();
  nothing.contextual.clear();  // not read: the user is known
  const Answer answer = engine.Rank({&nothing, 1})[0];
  ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
  EXPECT_TRUE(SameBits(answer.logits, expected.logits));
  EXPECT_EQ(answer.cached_tokens, 3 + 2 * 32);
}

TEST(KvCache, NeedsRoomForOneUser) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = Cached();
  options.kv_pages = 128;
  const Result<Engine> engine = Engine::Load(golden.model, options);
  ASSERT_FALSE(engine.ok());
  EXPECT_THAT(engine.error().message, HasSubstr("4096 tokens needs 129 pages"));
}

// Users with open int8 pages are bounded: many short ones leave, and come back with the same bits.
TEST(KvCache, UsersWhoKeepMoreThanPagesAreBounded) {
  for (const char* name : {"kuairand", "hierarchical"}) {
    const GoldenCase golden = LoadGolden(name);
    EngineOptions options;
    options.kv_dtype = "int8";
    Engine fresh = Load(golden.model, options);
    options.kv_cache = true;
    options.kv_pages = 129;
    Engine engine = Load(golden.model, options);
    std::vector<Request> users;
    for (size_t i = 0; i < 40; ++i) {
      users.push_back(golden.requests[i % 9]);
      users.back().user_id = "u" + std::to_string(i);
      users.back().items.resize(std::min<size_t>(users.back().items.size(), 12));
      users.back().actions.resize(users.back().items.size());
    }
    for (int round = 0; round < 3; ++round) {
      for (size_t first = 0; first < users.size(); first += 5 + round) {
        const auto batch = std::span(users).subspan(first, std::min<size_t>(5, 40 - first));
        const std::vector<Answer> actual = engine.Rank(batch);
        const std::vector<Answer> expected = fresh.Rank(batch);
        for (size_t i = 0; i < batch.size(); ++i) {
          ASSERT_FALSE(actual[i].error.has_value()) << actual[i].error->message;
          ASSERT_TRUE(SameBits(actual[i].logits, expected[i].logits)) << name << ", user " << i;
        }
      }
      for (Request& user : users) {
        user.items.push_back(round);
        user.actions.push_back(1);
      }
    }
    // 40 users take 80 of the 129 pages at most.
    EXPECT_GT(engine.stats().kv_users_evicted, 0) << name;
    EXPECT_LT(engine.stats().kv_users, 40) << name;
  }
}

// Past the bound a user that comes back whole and within it is computed from scratch.
TEST(KvCache, AWholeHistoryWithinTheLimitIsAnsweredFromScratchAfterEvictions) {
  const GoldenCase golden = LoadGolden("stream_evict");
  Engine engine = Load(golden.model, Cached());
  Engine fresh = Load(golden.model, {});
  engine.Rank(golden.requests);
  EXPECT_GT(engine.stats().kv_tokens_evicted, 0);
  Request whole = golden.requests[0];
  whole.history_start.reset();
  const Answer actual = engine.Rank({&whole, 1})[0];
  ASSERT_FALSE(actual.error.has_value());
  EXPECT_EQ(actual.evicted_tokens, 0);
  EXPECT_TRUE(SameBits(actual.logits, fresh.Rank({&whole, 1})[0].logits));
}

// Many callers, users that they share, a pool that evicts all the time; run under ThreadSanitizer.
TEST(KvCacheConcurrency, ManyCallersShareUsersAndATinyPool) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = Cached();
  options.kv_pages = 129;
  options.threads = 2;
  options.chunk_tokens = 60;
  Engine engine = Load(golden.model, options);
  Engine fresh = Load(golden.model, {});
  std::vector<Request> requests;
  for (size_t i = 0; i < 36; ++i) {
    requests.push_back(golden.requests[i % 9]);
    requests.back().user_id = "u" + std::to_string(i % 7);
    // Long enough that the pool doesn't hold them all.
    while (requests.back().items.size() < 330) {
      requests.back().items.push_back(static_cast<int64_t>(i * requests.back().items.size() % 997));
      requests.back().actions.push_back(1);
    }
  }
  const std::vector<Answer> expected = fresh.Rank(requests);
  std::atomic<int> different = 0;
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < Rounds(6); ++round) {
        const size_t first = random() % requests.size();
        const auto part = std::span(requests).subspan(first, std::min<size_t>(5, 36 - first));
        const std::vector<Answer> answers = engine.Rank(part);
        for (size_t i = 0; i < part.size(); ++i) {
          if (!SameBits(answers[i].logits, expected[first + i].logits)) ++different;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, 0);
  EXPECT_GT(engine.stats().kv_users_evicted, 0);
}

}  // namespace
}  // namespace hstu
