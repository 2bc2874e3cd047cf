// What the engine promises beside its logits: errors that disturb nothing, limits, threads, and
// steps that allocate nothing.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "base/allocation_count.h"
#include "hstu/hstu.hpp"
#include "kernels/operators.h"
#include "tests/golden.h"

namespace hstu {
namespace {

using testing::HasSubstr;

void ExpectError(Engine* engine, const Request& request, ErrorCode code, const char* message) {
  const std::vector<Answer> answers = engine->Rank({&request, 1});
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].error.has_value());
  EXPECT_EQ(answers[0].error->code, code) << answers[0].error->message;
  EXPECT_THAT(answers[0].error->message, HasSubstr(message));
}

TEST(Engine, NamesWhatIsWrongWithARequest) {
  const GoldenCase golden = LoadGolden("kuairand");
  Engine engine = Load(golden);
  const Request good = golden.requests[5];

  Request request = good;
  request.items[2] = 997;
  ExpectError(&engine, request, ErrorCode::kIdOutOfRange, "video_id 997");
  request.items[2] = -1;
  ExpectError(&engine, request, ErrorCode::kIdOutOfRange, "[0, 997)");
  request = good;
  request.candidates.assign(513, 1);
  ExpectError(&engine, request, ErrorCode::kTooManyCandidates, "max_num_candidates is 512");
  request = good;
  request.actions.pop_back();
  ExpectError(&engine, request, ErrorCode::kBadRequest, "32 items but 31 actions");
  request = good;
  request.contextual.erase(request.contextual.begin() + 1);
  ExpectError(&engine, request, ErrorCode::kBadRequest, "user_active_degree is missing");
  request = good;
  request.history_start = 4;
  ExpectError(&engine, request, ErrorCode::kHistoryNotCached, "history_start 4");
  request = good;
  request.items.assign(2047, 3);
  request.actions.assign(2047, 3);
  ExpectError(&engine, request, ErrorCode::kHistoryTooLong, "4097 tokens");
}

TEST(Engine, AnswersTheOthersAsIfABadRequestWereNotThere) {
  const GoldenCase golden = LoadGolden("kuairand");
  Engine engine = Load(golden);
  const std::vector<Answer> expected = engine.Rank(golden.requests);
  std::vector<Request> mixed;
  for (const Request& request : golden.requests) {
    mixed.push_back(request);
    mixed.push_back(request);
    mixed.back().candidates.push_back(1 << 30);
  }
  const std::vector<Answer> answers = engine.Rank(mixed);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(SameBits(answers[2 * i].logits, expected[i].logits));
    EXPECT_TRUE(answers[2 * i + 1].error.has_value());
  }
}

TEST(Engine, AnswersAnEmptyHistoryAndNoCandidates) {
  const GoldenCase golden = LoadGolden("plain");
  Engine engine = Load(golden);
  Request empty;
  const std::vector<Answer> answers = engine.Rank({&empty, 1});
  EXPECT_FALSE(answers[0].error.has_value());
  EXPECT_TRUE(answers[0].logits.empty());
  EXPECT_TRUE(engine.Rank({}).empty());
  Request warm_up = golden.requests[6];
  warm_up.candidates.clear();
  EXPECT_EQ(engine.Rank({&warm_up, 1})[0].history_items,
            static_cast<int64_t>(warm_up.items.size()));
}

// The oldest whole units go, and positions stay absolute.
TEST(Engine, TruncatesWholePagesAndSaysHowManyTokens) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options;
  options.truncate = true;
  Engine engine = Load(golden, options);
  Request request = golden.requests[5];
  request.items.assign(2100, 3);  // 4203 tokens, the limit is 4096
  request.actions.assign(2100, 3);
  const Answer answer = engine.Rank({&request, 1})[0];
  ASSERT_FALSE(answer.error.has_value());
  EXPECT_EQ(answer.evicted_tokens, 128);
  EXPECT_EQ(answer.history_items, 2100);
  options.chunk_tokens = 77;
  Engine chunked = Load(golden, options);
  EXPECT_TRUE(SameBits(chunked.Rank({&request, 1})[0].logits, answer.logits));
  request.history_start = 0;  // an append is never truncated
  ExpectError(&engine, request, ErrorCode::kHistoryTooLong, "4203 tokens");
}

TEST(Engine, LeavesContextOutWhenTold) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options;
  options.disable_context = true;
  Engine engine = Load(golden, options);
  Request request = golden.requests[5];
  const Answer with = engine.Rank({&request, 1})[0];
  request.contextual.clear();
  const Answer without = engine.Rank({&request, 1})[0];
  ASSERT_FALSE(without.error.has_value());
  EXPECT_TRUE(SameBits(with.logits, without.logits));
  EXPECT_FALSE(SameBits(Load(golden).Rank({&golden.requests[5], 1})[0].logits, with.logits));
}

TEST(Engine, RefusesOptionsThatCannotBeMeant) {
  const GoldenCase golden = LoadGolden("plain");
  const auto message = [&](const auto& change) {
    EngineOptions options;
    change(&options);
    const Result<Engine> engine = Engine::Load(golden.model, options);
    return engine.ok() ? std::string() : engine.error().message;
  };
  EXPECT_THAT(message([](EngineOptions* o) { o->threads = -1; }), HasSubstr("threads -1"));
  EXPECT_THAT(message([](EngineOptions* o) { o->isa = "neon"; }), HasSubstr("isa neon"));
  EXPECT_THAT(message([](EngineOptions* o) { o->page_size = 16; }), HasSubstr("page_size 16"));
  EXPECT_THAT(message([](EngineOptions* o) { o->max_step_tokens = 0; }), HasSubstr("max_step"));
  EXPECT_THAT(message([](EngineOptions* o) { o->chunk_tokens = -5; }), HasSubstr("chunk_tokens"));
  EXPECT_THAT(message([](EngineOptions* o) { o->fused_ops = "gelu"; }), HasSubstr("\"gelu\""));
}

#ifdef HSTU_COUNTS_ALLOCATIONS
// More threads than heads: they share the keys of a request's few rows.
TEST(Engine, ThreadsThatShareKeysGiveTheSameBits) {
  for (const char* name : {"kuairand", "softmax", "window", "groups", "hierarchical"}) {
    const GoldenCase golden = LoadGolden(name);
    Request history = golden.requests.back();
    while (history.items.size() < 700) {
      history.items.push_back(history.items[history.items.size() % 97]);
      history.actions.push_back(history.actions[history.actions.size() % 89]);
    }
    history.candidates.clear();
    Request more = history;
    more.items.push_back(5);
    more.actions.push_back(1);
    more.candidates = {1, 2, 3};
    std::vector<float> expected;
    for (const int threads : {1, 3, 16}) {
      EngineOptions options;
      options.threads = threads;
      options.kv_cache = true;
      Engine engine = Load(golden, options);
      engine.Rank({&history, 1});
      const Answer answer = engine.Rank({&more, 1})[0];
      ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
      if (expected.empty()) expected = answer.logits;
      ASSERT_EQ(std::memcmp(answer.logits.data(), expected.data(), expected.size() * sizeof(float)),
                0)
          << name << ", " << threads << " threads";
    }
  }
}

TEST(Engine, AWarmStepAllocatesNothing) {
  const GoldenCase golden = LoadGolden("kuairand");
  for (const int64_t chunk : {0, 50}) {
    EngineOptions options;
    options.threads = 2;
    options.chunk_tokens = chunk;
    Engine engine = Load(golden, options);
    engine.Rank(golden.requests);
    const EngineStats before = engine.stats();
    const int64_t all_before = allocation_count;
    engine.Rank(golden.requests);
    EXPECT_GT(engine.stats().steps, before.steps);
    EXPECT_GT(allocation_count, all_before) << "the counter is not linked";
    EXPECT_EQ(engine.stats().step_allocations, before.step_allocations);
  }
}
#endif

TEST(Engine, MemoryOfALongFileIsBoundedByTheTokenBudget) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options;
  options.max_step_tokens = 500;
  Engine engine = Load(golden, options);
  std::vector<Request> many;
  for (int i = 0; i < 40; ++i) {
    many.insert(many.end(), golden.requests.begin(), golden.requests.end());
  }
  const int64_t arena = engine.stats().arena_bytes;
  const std::vector<Answer> answers = engine.Rank(many);
  EXPECT_GT(engine.stats().steps, 40);
  EXPECT_EQ(engine.stats().arena_bytes, arena);
  EXPECT_TRUE(SameBits(answers[0].logits, answers[9].logits));
}

// Whole and chunked sequences of many callers at once; run under ThreadSanitizer.
TEST(EngineConcurrency, ManyThreadsShareOneEngine) {
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options;
  options.threads = 2;
  options.chunk_tokens = 100;
  Engine engine = Load(golden, options);
  const std::vector<Answer> expected = engine.Rank(golden.requests);
  std::vector<std::thread> callers;
  std::atomic<int> different = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 6; ++round) {
        const size_t first = (caller + round) % golden.requests.size();
        const auto part = std::span(golden.requests).subspan(first);
        const std::vector<Answer> answers = engine.Rank(part);
        for (size_t i = 0; i < part.size(); ++i) {
          if (!SameBits(answers[i].logits, expected[first + i].logits)) ++different;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace hstu
