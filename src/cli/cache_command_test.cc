#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "cli/testing.h"

namespace hstu {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string Golden(const std::string& name) { return std::string(HSTU_GOLDEN_DIR) + "/" + name; }

TEST(CacheLayoutCommand, GivesOffsetsThatTileTheAllocations) {
  const Outcome outcome =
      RunHstu({"cache", "layout", "--model", Golden("kuairand/model"), "--kv-pages", "200",
               "--requests", Golden("kuairand/requests.jsonl"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json layout = json::parse(outcome.out);
  std::int64_t keys = 0;
  std::int64_t values = 0;
  for (const json& layer : layout["layers"]) {
    EXPECT_EQ(layer["key_offset"], keys);
    EXPECT_EQ(layer["value_offset"], values);
    EXPECT_EQ(layer["pages"], 200);
    keys += 200 * layout["key_page_bytes"].get<std::int64_t>();
    values += 200 * layout["value_page_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(layout["key_bytes"], keys);
  EXPECT_EQ(layout["bytes"], keys + values);
  EXPECT_GT(layout["sample"]["rounding"].get<double>(), 0.0);
  EXPECT_LT(layout["sample"]["rounding"].get<double>(), 1.0);
}

TEST(CacheLayoutCommand, SaysWhatRoundingCostsTheUsersOfProcessedData) {
  const TestFolder folder;
  folder.Write("processed_seqs_inference.csv",
               "user_id,date,video_id,action_weights,interval_indptr\n"
               "7,20220408,\"[1, 2, 3]\",\"[1, 1, 1]\",\"[0, 3]\"\n"
               "7,20220409,\"[4, 5]\",\"[1, 1]\",\"[0, 2]\"\n"
               "8,20220408,[6],[1],\"[0, 1]\"\n");
  const std::string model = Golden("kuairand/model");
  const json config = json::parse(ReadWholeFile(model + "/config.json"));
  const auto context = static_cast<std::int64_t>(config["contextual_features"].size());
  const Outcome outcome =
      RunHstu({"cache", "layout", "--model", model, "--data", folder / "", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json sample = json::parse(outcome.out)["sample"];
  EXPECT_EQ(sample["users"], 2);
  EXPECT_EQ(sample["tokens"], 2 * context + 2 * (5 + 1));
}

TEST(CacheLayoutCommand, StaysWithinKvBytesWithWhatUsersKeepBesidePages) {
  const std::string model = Golden("hierarchical/model");
  for (const char* type : {"f32", "int8"}) {
    const Outcome outcome = RunHstu({"cache", "layout", "--model", model, "--kv-bytes", "30000000",
                                     "--kv-dtype", type, "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json layout = json::parse(outcome.out);
    EXPECT_LE(layout["bytes"], 30000000);
    EXPECT_GT(layout["users"], 1);
    EXPECT_GT(layout["beside_bytes"], 0);
    const Outcome info = RunHstu({"info", "--model", model, "--kv-cache", "--kv-bytes", "30000000",
                                  "--kv-dtype", type, "--json"});
    ASSERT_EQ(info.status, 0) << info.err;
    EXPECT_EQ(json::parse(info.out)["engine"]["kv_cache_bytes"], layout["bytes"]);
  }
  const Outcome flat = RunHstu({"cache", "layout", "--model", Golden("kuairand/model"), "--json"});
  EXPECT_TRUE(json::parse(flat.out)["users"].is_null());
}

TEST(CacheLayoutCommand, SaysWhatStagesSaveAndWhatIsTooSmall) {
  const std::string model = Golden("hierarchical/model");
  const Outcome outcome = RunHstu({"cache", "layout", "--model", model});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("stages save"));
  const Outcome small = RunHstu({"cache", "layout", "--model", model, "--kv-pages", "2"});
  EXPECT_EQ(small.status, 2);
  EXPECT_THAT(small.err, HasSubstr("kv_pages 2"));
}

TEST(CacheDumpCommand, ShowsAUserInThePoolAndLaterOnDisk) {
  const TestFolder folder;
  const std::vector<std::string> common = {
      "cache",  "dump",          "--model",      Golden("kuairand/model"),
      "--disk", folder / "disk", "--disk-bytes", "67108864"};
  std::vector<std::string> first = common;
  first.insert(first.end(), {"--requests", Golden("kuairand/requests.jsonl"), "--json"});
  const Outcome outcome = RunHstu(first);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json pool = json::parse(outcome.out)["users"];
  ASSERT_FALSE(pool.empty());
  EXPECT_EQ(pool.back()["tier"], "pool");

  std::vector<std::string> later = common;
  const auto user = pool.back()["user_id"].get<std::string>();
  later.insert(later.end(), {"--user", user, "--json"});
  const Outcome again = RunHstu(later);
  ASSERT_EQ(again.status, 0) << again.err;
  const json disk = json::parse(again.out)["users"];
  ASSERT_EQ(disk.size(), 1);
  EXPECT_EQ(disk[0]["tier"], "disk");
  EXPECT_EQ(disk[0]["tokens"], pool.back()["tokens"]);
}

TEST(CacheCheckCommand, ChecksWhatRankLogged) {
  const TestFolder folder;
  const std::string log = folder / "log.jsonl";
  const Outcome rank =
      RunHstu({"rank", "--model", Golden("stream_evict/model"), "--requests",
               Golden("stream_evict/requests.jsonl"), "--kv-cache", "--cache-log", log});
  ASSERT_EQ(rank.status, 0) << rank.err;
  const Outcome good = RunHstu({"cache", "check", log});
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("0 overlaps, 0 gaps, 0 writes"));
  const std::string text = ReadWholeFile(log);
  folder.Write("twice.jsonl", text + text.substr(text.rfind('\n', text.size() - 2) + 1));
  const Outcome bad = RunHstu({"cache", "check", folder / "twice.jsonl"});
  EXPECT_EQ(bad.status, 1) << bad.out;
  EXPECT_THAT(bad.out, HasSubstr("written twice"));
}

}  // namespace
}  // namespace hstu
