// The engine with tiers below its KV cache: whatever leaves, comes back, is lost or damaged, every
// answer has the bits of a fresh engine.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/test_files.h"
#include "cache/cache_log.h"
#include "cache/redis_server.h"
#include "tests/golden.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

// A pool that holds one long user or a few short ones.
EngineOptions TinyPool() {
  EngineOptions options;
  options.kv_cache = true;
  options.kv_pages = 129;
  options.offload_chunk = 64;
  return options;
}

EngineOptions WithHost(EngineOptions options = TinyPool()) {
  options.host_bytes = 256 * kMiB;
  return options;
}

EngineOptions WithDisk(const std::string& folder, EngineOptions options = TinyPool()) {
  options.disk = folder;
  options.disk_bytes = 512 * kMiB;
  return options;
}

bool SameAnswer(const Answer& a, const Answer& b) {
  if (a.error.has_value() || b.error.has_value()) return false;
  return SameBits(a.logits, b.logits);
}

int64_t SomeItem(const GoldenCase& golden, size_t number) {
  const std::vector<int64_t>& items = golden.requests.back().items;
  return items[number % items.size()];
}

// Users with histories of some hundred items.
std::vector<Request> Users(const GoldenCase& golden, int count, size_t items = 330) {
  std::vector<Request> users;
  for (int i = 0; i < count; ++i) {
    Request user = golden.requests[static_cast<size_t>(i) % golden.requests.size()];
    user.history_start.reset();
    user.user_id = "u" + std::to_string(i);
    const bool actions = !golden.requests.back().actions.empty();
    while (user.items.size() < items) {
      user.items.push_back(SomeItem(golden, user.items.size() * 7 + static_cast<size_t>(i)));
      if (actions) user.actions.push_back(1);
    }
    users.push_back(std::move(user));
  }
  return users;
}

// All of them, one after the other.
std::vector<Answer> RankEach(Engine* engine, const std::vector<Request>& requests) {
  std::vector<Answer> answers;
  answers.reserve(requests.size());
  for (const Request& request : requests) answers.push_back(engine->Rank({&request, 1})[0]);
  return answers;
}

void ExpectSame(const std::vector<Answer>& actual, const std::vector<Answer>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_FALSE(actual[i].error.has_value()) << i << ": " << actual[i].error->message;
    EXPECT_TRUE(SameAnswer(actual[i], expected[i])) << i;
  }
}

class KvTiers : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, KvTiers,
                         testing::Values("kuairand", "softmax", "window", "odd", "hierarchical"),
                         GoldenTestName);

TEST_P(KvTiers, UsersWhoLeftThePoolComeBackFromMemory) {
  const GoldenCase golden = LoadGolden(GetParam());
  Engine engine = Load(golden, WithHost());
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  ExpectSame(RankEach(&engine, users), expected);
  const int64_t computed = engine.stats().tokens;
  const std::vector<Answer> again = RankEach(&engine, users);
  ExpectSame(again, expected);
  const EngineStats stats = engine.stats();
  EXPECT_GT(stats.kv_users_evicted, 0);
  EXPECT_GT(stats.tiers[0].hits, 0);
  EXPECT_GT(stats.tiers[0].tokens, 0);
  EXPECT_LT(stats.tokens - computed, computed / 2);
  for (const Answer& answer : again) EXPECT_GT(answer.cached_tokens, 0);
}

TEST_P(KvTiers, IsWarmAtOnceAfterARestart) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden(GetParam());
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  {
    Engine engine = Load(golden, WithDisk(folder / "disk"));
    ExpectSame(RankEach(&engine, users), expected);
  }
  Engine engine = Load(golden, WithDisk(folder / "disk"));
  const std::vector<Answer> answers = RankEach(&engine, users);
  ExpectSame(answers, expected);
  for (const Answer& answer : answers) EXPECT_GT(answer.cached_tokens, 0);
  EXPECT_EQ(engine.stats().tiers[0].hits, 9);
}

// Users that grow, shrink, are edited and change their profile, in batches, through all tiers that
// a machine has alone.
TEST_P(KvTiers, EveryAnswerHasTheBitsOfAFreshEngine) {
  const GoldenCase golden = LoadGolden(GetParam());
  Engine fresh = Load(golden, {});
  for (unsigned seed = 0; seed < static_cast<unsigned>(Rounds(3)); ++seed) {
    const TestFolder folder;
    std::mt19937 random(seed);
    EngineOptions options = WithDisk(folder / "disk", WithHost());
    options.host_bytes = kMiB << (seed * 4);
    options.chunk_tokens = seed % 2 == 0 ? 0 : 150;
    Engine engine = Load(golden, options);
    std::vector<Request> users = Users(golden, 12, 40);
    for (int step = 0; step < 20; ++step) {
      std::vector<Request> batch;
      for (int i = 0; i < 4; ++i) {
        Request& user = users[random() % users.size()];
        for (size_t k = random() % 120; k > 0 && user.items.size() < 600; --k) {
          user.items.push_back(SomeItem(golden, random()));
          if (!user.actions.empty()) user.actions.push_back(1);
        }
        if (random() % 5 == 0) user.items[random() % user.items.size()] = 3;
        if (random() % 7 == 0) {
          user.items.resize(user.items.size() / 2);
          user.actions.resize(user.actions.empty() ? 0 : user.items.size());
        }
        if (random() % 9 == 0 && !user.contextual.empty()) user.contextual[0].second ^= 1;
        batch.push_back(user);
      }
      const std::vector<Answer> actual = engine.Rank(batch);
      const std::vector<Answer> expected = fresh.Rank(batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        ASSERT_FALSE(actual[i].error.has_value()) << actual[i].error->message;
        ASSERT_TRUE(SameAnswer(actual[i], expected[i]))
            << "seed " << seed << ", step " << step << ", request " << i;
      }
    }
    const EngineStats stats = engine.stats();
    EXPECT_GT(stats.kv_users_evicted, 0);
    EXPECT_GT(stats.tiers[0].hits + stats.tiers[1].hits, 0);
    EXPECT_EQ(stats.tiers[1].damaged + stats.tiers[1].errors, 0);
    // A tier without room may lose a state that is just coming back, else nothing.
    if (stats.tiers[0].users_evicted == 0) {
      EXPECT_EQ(stats.tiers[0].damaged, 0);
    }
  }
}

// In every type: what a tier gives back is what was kept, int8's open page in f32 too.
TEST(KvTiersTypes, AnswersAreThoseOfAnEngineWithoutTiers) {
  for (const char* name : {"kuairand", "hierarchical"}) {
    const GoldenCase golden = LoadGolden(name);
    for (const char* type : {"bf16", "f16", "int8"}) {
      EngineOptions options;
      options.kv_dtype = type;
      Engine fresh = Load(golden, options);
      options = WithHost();
      options.kv_dtype = type;
      Engine engine = Load(golden, options);
      std::vector<Request> users = Users(golden, 9, 250);
      for (int round = 0; round < 3; ++round) {
        ExpectSame(RankEach(&engine, users), RankEach(&fresh, users));
        for (size_t i = 0; i < users.size(); ++i) {
          for (size_t k = 0; k < 3 + i; ++k) {
            users[i].items.push_back(SomeItem(golden, k + i));
            users[i].actions.push_back(1);
          }
        }
      }
      EXPECT_GT(engine.stats().tiers[0].hits, 0) << type;
    }
  }
}

class StreamTiers : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, StreamTiers,
                         testing::Values("stream", "stream_evict", "stream_softmax",
                                         "stream_hierarchical"),
                         GoldenTestName);

// Streams, past the limit too: between any two requests everything leaves the pool and comes back.
TEST_P(StreamTiers, GoOnFromATierAsFromThePool) {
  const GoldenCase golden = LoadGolden(GetParam());
  EngineOptions options;
  options.kv_cache = true;
  Engine pool = Load(golden, options);
  options = WithHost();
  options.kv_pages = 0;
  options.kv_bytes = 1;
  const Result<Engine> refused = Engine::Load(golden.model, options);
  ASSERT_FALSE(refused.ok());
  // The least that one user needs, as the message says.
  const std::string& message = refused.error().message;
  options.kv_pages = std::stoll(message.substr(message.find("needs ") + 6));
  options.kv_bytes = 0;
  Engine tiers = Load(golden, options);
  const std::vector<Request> others = Users(golden, 2, 40);
  for (const Request& request : golden.requests) {
    ASSERT_TRUE(SameAnswer(tiers.Rank({&request, 1})[0], pool.Rank({&request, 1})[0]));
    for (Request other : others) {
      while (static_cast<int64_t>(other.items.size()) * 2 < options.kv_pages * 24) {
        other.items.push_back(1);
        if (!other.actions.empty()) other.actions.push_back(1);
      }
      tiers.Rank({&other, 1});
    }
  }
  EXPECT_GT(tiers.stats().tiers[0].hits, 0);
}

// An edit that a stream made is in no tier any more when it is answered.
TEST(KvTiersSafety, AStreamThatWasEditedIsNotContinuedFromItsPast) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  std::vector<Request> user = Users(golden, 1, 100);
  const int status = [&] {
    const pid_t pid = fork();
    if (pid == 0) {
      EngineOptions options = WithDisk(folder / "disk");
      options.threads = 1;
      Engine engine = Load(golden, options);
      engine.Rank(user);
      engine.WaitForSaves();
      user[0].items[50] += 1;
      engine.Rank(user);
      kill(getpid(), SIGKILL);
    }
    int wait_status = 0;
    waitpid(pid, &wait_status, 0);
    return wait_status;
  }();
  ASSERT_TRUE(WIFSIGNALED(status));
  Engine engine = Load(golden, WithDisk(folder / "disk"));
  Request next = user[0];
  next.history_start = 100;
  next.items = {1};
  next.actions = {1};
  const Answer answer = engine.Rank({&next, 1})[0];
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->code, ErrorCode::kHistoryNotCached);
}

TEST(KvTiersSafety, AnotherModelOrOtherNumericsFindNothing) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  const std::vector<Request> users = Users(golden, 2);
  const EngineOptions options = WithDisk(folder / "disk");
  { RankEach(&*std::make_unique<Engine>(Load(golden, options)), users); }
  std::vector<EngineOptions> others(3, options);
  others[0].fused_ops = "none";
  others[1].page_size = 64;
  others[2].isa = "scalar";
  for (const EngineOptions& other : others) {
    const std::string copy = folder / "copy";
    fs::remove_all(copy);
    fs::copy(folder / "disk", copy);
    EngineOptions with_copy = other;
    with_copy.disk = copy;
    Engine engine = Load(golden, with_copy);
    EngineOptions plain = other;
    plain.disk.clear();
    plain.disk_bytes = 0;
    plain.kv_cache = false;
    Engine fresh = Load(golden, plain);
    const std::vector<Answer> answers = RankEach(&engine, users);
    ExpectSame(answers, RankEach(&fresh, users));
    EXPECT_EQ(answers[0].cached_tokens, 0);
  }
}

// Flips bits of all large files in a folder.
void Damage(const std::string& folder, int64_t begin, int64_t step) {
  for (const auto& file : fs::directory_iterator(folder)) {
    const auto size = static_cast<int64_t>(file.file_size());
    if (file.path().extension() != ".blob" && file.path().extension() != ".log") continue;
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int64_t at = begin; at < size; at += step) {
      stream.seekg(at);
      const int byte = stream.get();
      stream.seekp(at);
      stream.put(static_cast<char>(byte ^ 16));
    }
  }
}

TEST(KvTiersFailures, DamagedFilesAreComputedAnew) {
  const GoldenCase golden = LoadGolden("kuairand");
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  int64_t damaged = 0;
  int64_t hits = 0;
  for (int round = 0; round < Rounds(6); ++round) {
    const TestFolder folder;
    // The store's own log is read, and judged, at start; after two starts all is in other files.
    for (int start = 0; start < 2; ++start) {
      Engine engine = Load(golden, WithDisk(folder / "disk"));
      ExpectSame(RankEach(&engine, users), expected);
    }
    Damage(folder / "disk", 200'000 + round * 10'007, 1'500'000);
    Engine engine = Load(golden, WithDisk(folder / "disk"));
    ExpectSame(engine.Rank(users), expected);
    damaged += engine.stats().tiers[0].damaged + engine.stats().tiers[0].errors;
    hits += engine.stats().tiers[0].hits;
  }
  EXPECT_GT(damaged, 0);
  EXPECT_GT(hits, 0);
}

TEST(KvTiersFailures, KilledWhileSavingAndStartedAgain) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  for (int round = 0; round < Rounds(5); ++round) {
    const pid_t pid = fork();
    if (pid == 0) {
      Engine engine = Load(golden, WithDisk(folder / "disk"));
      for (;;) RankEach(&engine, users);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + 90 * round));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    Engine engine = Load(golden, WithDisk(folder / "disk"));
    ExpectSame(RankEach(&engine, users), expected);
    EXPECT_EQ(engine.stats().tiers[0].damaged, 0);
  }
}

constexpr int64_t kSavedChunk = 64;  // tokens

// A user's items [begin, end), as a request that goes on with them.
Request Continued(const Request& user, int64_t begin, int64_t end) {
  Request request = user;
  request.history_start = begin;
  request.items.assign(user.items.begin() + begin, user.items.begin() + end);
  request.actions.assign(user.actions.begin() + begin, user.actions.begin() + end);
  return request;
}

constexpr int64_t kGrowths = 10;

// Items of a stream after that many growths.
int64_t Grown(size_t user, int64_t growths) {
  return 150 + growths * (5 + 3 * static_cast<int64_t>(user));
}

// Streams of `users` side by side; after(user, answer) follows on each request.
template <typename After>
void Grow(Engine* engine, const std::vector<Request>& users, const After& after) {
  for (int64_t i = 0; i <= kGrowths; ++i) {
    for (size_t user = 0; user < users.size(); ++user) {
      const int64_t begin = i == 0 ? 0 : Grown(user, i - 1);
      const Request request = Continued(users[user], begin, Grown(user, i));
      after(user, engine->Rank({&request, 1})[0]);
    }
  }
}

// Grows the users in a process that is killed then, whose pool holds them all.
void GrowAndDie(const GoldenCase& golden, const EngineOptions& options,
                const std::vector<Request>& users) {
  const pid_t pid = fork();
  if (pid == 0) {
    Engine engine = Load(golden, options);
    Grow(&engine, users, [&](size_t, const Answer&) { engine.WaitForSaves(); });
    if (engine.stats().kv_users_evicted > 0) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

class KilledEngine : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, KilledEngine, testing::Values("kuairand", "hierarchical"),
                         GoldenTestName);

// Another goes on from the end of the step in which a chunk got full last, in a flat model from the
// last full chunk, with the bits of an engine that was never interrupted.
TEST_P(KilledEngine, HasSavedWhoStayedInItsPool) {
  const GoldenCase golden = LoadGolden(GetParam());
  const std::vector<Request> users = Users(golden, 5);
  for (const char* type : {"f32", "int8"}) {
    for (const int64_t chunk_tokens : {0, 100}) {
      // ThreadSanitizer fails in children of a process that had many threads.
      if (IsSlowBuild() && (type == std::string("f32") || chunk_tokens == 0)) continue;
      SCOPED_TRACE(std::string(type) + ", in chunks of " + std::to_string(chunk_tokens));
      const TestFolder folder;
      EngineOptions options;
      options.kv_cache = true;
      options.kv_dtype = type;
      options.threads = 1;
      options.chunk_tokens = chunk_tokens;
      EngineOptions with_disk = WithDisk(folder / "disk", options);
      with_disk.offload_chunk = kSavedChunk;
      GrowAndDie(golden, with_disk, users);
      Engine whole = Load(golden, options);
      std::vector<int64_t> saved(users.size());  // items
      std::vector<int64_t> chunks(users.size());
      Grow(&whole, users, [&](size_t user, const Answer& answer) {
        const int64_t full = (3 + 2 * answer.history_items) / kSavedChunk;
        if (full == chunks[user]) return;
        chunks[user] = full;
        saved[user] =
            GetParam() == "hierarchical" ? answer.history_items : (full * kSavedChunk - 3) / 2;
      });
      Engine engine = Load(golden, with_disk);
      for (size_t user = 0; user < users.size(); ++user) {
        const Request rest = Continued(users[user], saved[user], 330);
        const Request last = Continued(users[user], Grown(user, kGrowths), 330);
        const Answer answer = engine.Rank({&rest, 1})[0];
        ASSERT_FALSE(answer.error.has_value()) << answer.error->message;
        EXPECT_GE(answer.cached_tokens, 2 * saved[user]);
        EXPECT_TRUE(SameAnswer(answer, whole.Rank({&last, 1})[0])) << user;
      }
      EXPECT_EQ(engine.stats().tiers[0].hits, 5);
      EXPECT_EQ(engine.stats().kv_arrivals_failed, 0);
    }
  }
}

TEST(KvTiersFailures, AFullDiskChangesNoAnswer) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    EngineOptions options = WithDisk(folder / "disk");
    options.threads = 1;
    bool same = true;
    {
      Engine engine = Load(golden, options);
      const rlimit limit{1'000'000, 1'000'000};  // of any file
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int round = 0; round < 3; ++round) {
        const std::vector<Answer> answers = RankEach(&engine, users);
        for (size_t i = 0; i < users.size(); ++i)
          same = same && SameAnswer(answers[i], expected[i]);
      }
      same = same && engine.stats().tiers[0].errors > 0;
    }
    _exit(same ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(KvTiersFailures, RedisIsSharedAndMayVanishAndComeBack) {
  const TestFolder folder;
  RedisServer server(folder.path());
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = TinyPool();
  options.redis = server.url();
  Engine fresh = Load(golden, {});
  const std::vector<Request> users = Users(golden, 9);
  const std::vector<Answer> expected = RankEach(&fresh, users);
  { RankEach(&*std::make_unique<Engine>(Load(golden, options)), users); }
  Engine engine = Load(golden, options);
  const std::vector<Answer> shared = RankEach(&engine, users);
  ExpectSame(shared, expected);
  for (const Answer& answer : shared) EXPECT_GT(answer.cached_tokens, 0);

  std::atomic<bool> stop = false;
  std::atomic<int> different = 0;
  std::thread caller([&] {
    while (!stop) {
      const std::vector<Answer> answers = engine.Rank(users);
      for (size_t i = 0; i < users.size(); ++i)
        different += SameAnswer(answers[i], expected[i]) ? 0 : 1;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.Kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  server.Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  stop = true;
  caller.join();
  EXPECT_EQ(different, 0);
  EXPECT_GT(engine.stats().tiers[0].errors, 0);
}

TEST(KvTiersOptions, AreCheckedAtStart) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("plain");
  const auto message = [&](const EngineOptions& options) {
    const Result<Engine> engine = Engine::Load(golden.model, options);
    return engine.ok() ? std::string() : engine.error().message;
  };
  EngineOptions options = WithHost();
  options.offload_chunk = 100;
  EXPECT_THAT(message(options), HasSubstr("offload_chunk 100: give a multiple of the page size"));
  options = WithHost();
  options.kv_cache = false;
  EXPECT_THAT(message(options), HasSubstr("need kv_cache"));
  options = TinyPool();
  options.disk = folder.path();
  EXPECT_THAT(message(options), HasSubstr("give both"));
  options.disk_bytes = 5;
  EXPECT_THAT(message(options), HasSubstr("disk_bytes 5"));
  options = TinyPool();
  options.redis = "http://x";
  EXPECT_THAT(message(options), HasSubstr("redis://HOST"));
}

// What the log says of a run with all that there is: no write meets a read, nothing overlaps, there
// are no gaps.
TEST(KvTiersLog, NoWriteMeetsAReadOfItsStep) {
  for (const char* name : {"kuairand", "hierarchical"}) {
    const TestFolder folder;
    const GoldenCase golden = LoadGolden(name);
    EngineOptions options = WithDisk(folder / "disk", WithHost());
    options.cache_log = folder / "log.jsonl";
    options.chunk_tokens = 200;
    {
      Engine engine = Load(golden, options);
      std::vector<Request> users = Users(golden, 7);
      engine.Rank(users);
      for (Request& user : users) user.items[200] = 5;
      engine.Rank(users);
    }
    const Result<CacheLogReport> report = CheckCacheLog(folder / "log.jsonl");
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->ok()) << report->first_fault;
    EXPECT_GT(report->tokens_written, 0);
    EXPECT_GT(report->tokens_read, 0);
    EXPECT_GT(report->tokens_arrived, 0);
  }
}

TEST(KvTiersDescription, SaysWhereAUserIs) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  Engine engine = Load(golden, WithDisk(folder / "disk", WithHost()));
  const std::vector<Request> users = Users(golden, 4, 100);
  engine.Rank(users);
  const nlohmann::json all = nlohmann::json::parse(engine.DescribeCache());
  EXPECT_EQ(all["page_size"], 32);
  const nlohmann::json one = nlohmann::json::parse(engine.DescribeCache("u2"));
  ASSERT_EQ(one["users"].size(), 3) << one;  // pool, host, disk: full chunks are saved at once
  EXPECT_EQ(one["users"][0]["tier"], "pool");
  EXPECT_EQ(one["users"][0]["stages"][0]["count"], 3 + 200);
  EXPECT_EQ(one["users"][0]["stages"][0]["pages"].size(), 7);
  EXPECT_EQ(one["users"][0]["tokens"].size(), 203);
  EXPECT_EQ(one["users"][1]["tier"], "host");
  EXPECT_EQ(one["users"][1]["stages"][0]["count"], 192);
  engine.ForgetUsers();
  EXPECT_EQ(nlohmann::json::parse(engine.DescribeCache())["users"].size(), 0);
}

// Many callers, users that they share, a pool that evicts all the time; run under ThreadSanitizer.
TEST(KvTiersConcurrency, ManyCallersShareUsersATinyPoolAndItsTiers) {
  const TestFolder folder;
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = WithDisk(folder / "disk", WithHost());
  options.host_bytes = 2 * kMiB;
  options.threads = 2;
  options.chunk_tokens = 250;
  Engine engine = Load(golden, options);
  Engine fresh = Load(golden, {});
  // Of each user three histories, the last an edit.
  std::vector<Request> requests;
  for (const Request& user : Users(golden, 8)) {
    for (const size_t items : {size_t{150}, size_t{330}}) {
      requests.push_back(user);
      requests.back().items.resize(items);
      requests.back().actions.resize(items);
    }
    requests.push_back(user);
    requests.back().items[100] = 7;
  }
  const std::vector<Answer> expected = fresh.Rank(requests);
  std::atomic<int> different = 0;
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < Rounds(8); ++round) {
        const size_t first = random() % requests.size();
        const auto part =
            std::span(requests).subspan(first, std::min<size_t>(5, requests.size() - first));
        const std::vector<Answer> answers = engine.Rank(part);
        for (size_t i = 0; i < part.size(); ++i) {
          if (!SameAnswer(answers[i], expected[first + i])) ++different;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, 0);
  EXPECT_GT(engine.stats().kv_users_evicted, 0);
}

// The server keeps a lookup waiting until it is told to go on, or the tier gives up.
TEST(KvTiersConcurrency, ASlowTierKeepsNoOtherUserWaiting) {
  const TestFolder folder;
  RedisServer server(folder.path());
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = TinyPool();
  options.redis = server.url();
  options.threads = 1;
  const std::vector<Request> users = Users(golden, 2, 100);
  std::vector<Answer> expected;
  {
    Engine engine = Load(golden, options);
    expected = RankEach(&engine, users);
  }
  Engine engine = Load(golden, options);
  engine.Rank({users.data(), 1});
  engine.WaitForSaves();
  server.Pause();
  std::atomic<bool> ended = false;
  std::vector<Answer> late;
  std::thread caller([&] {
    late = engine.Rank({&users[1], 1});
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::vector<Answer> meanwhile = engine.Rank({users.data(), 1});
  EXPECT_FALSE(ended);
  server.Resume();
  caller.join();
  ExpectSame({meanwhile[0], late[0]}, expected);
  EXPECT_GT(late[0].cached_tokens, 0);
}

// Callers go on with the same streams, in a pool that evicts all the time: none is refused or goes
// on from what a stream was before another caller's request. Run under ThreadSanitizer.
TEST(KvTiersConcurrency, CallersWhoShareStreamsNeverGoOnFromThePast) {
  constexpr int kStreams = 12;
  constexpr int64_t kItems = 330;
  const GoldenCase golden = LoadGolden("kuairand");
  EngineOptions options = WithHost();
  options.threads = 1;
  Engine engine = Load(golden, options);
  const std::vector<Request> users = Users(golden, kStreams, kItems);
  std::vector<std::atomic<int64_t>> lengths(kStreams);  // that were answered
  struct Seen {
    size_t user;
    int64_t items;
    std::vector<float> logits;
  };
  std::mutex mutex;
  std::vector<Seen> seen;
  std::vector<std::string> errors;
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937 random(caller);
      for (int round = 0; round < std::max(30, Rounds(60)); ++round) {  // until the pool is full
        std::vector<size_t> who;
        std::vector<Request> batch;
        for (int i = 0; i < 3; ++i) {
          who.push_back(random() % kStreams);
          const int64_t begin = lengths[who.back()];
          batch.push_back(
              Continued(users[who.back()], begin,
                        std::min<int64_t>(kItems, begin + static_cast<int64_t>(random() % 60))));
        }
        const std::vector<Answer> answers = engine.Rank(batch);
        const std::lock_guard lock(mutex);
        for (size_t i = 0; i < answers.size(); ++i) {
          if (answers[i].error) {
            errors.push_back(answers[i].error->message);
            continue;
          }
          const int64_t items = answers[i].history_items;
          lengths[who[i]] = std::max<int64_t>(lengths[who[i]], items);
          seen.push_back({who[i], items, answers[i].logits});
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(errors, testing::IsEmpty());
  EXPECT_GT(engine.stats().tiers[0].hits, 0);
  options = {};
  options.kv_cache = true;
  Engine fresh = Load(golden, options);
  std::sort(seen.begin(), seen.end(),
            [](const Seen& a, const Seen& b) { return a.items < b.items; });
  for (const Seen& one : seen) {
    Request whole = users[one.user];
    whole.items.resize(one.items);
    whole.actions.resize(one.items);
    EXPECT_TRUE(SameBits(fresh.Rank({&whole, 1})[0].logits, one.logits))
        << users[one.user].user_id.value() << ", " << one.items << " items";
  }
}

}  // namespace
}  // namespace hstu
