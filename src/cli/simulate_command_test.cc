#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "cli/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

const std::string kExample = HSTU_SOURCE_DIR "/examples/kuairand";

// The first lines of the sample's log, so that a replay takes a moment, and the model with a limit
// that these users pass.
class SimulateCommand : public testing::Test {
 protected:
  SimulateCommand() {
    const std::string log = ReadWholeFile(kExample + "/data/log_standard_4_08_to_4_21_sample.csv");
    std::size_t end = 0;
    for (int line = 0; line <= 600; ++line) end = log.find('\n', end) + 1;
    folder_.Write("log.csv", log.substr(0, end));
    const Outcome made = RunHstu({"preprocess", "--dataset", "kuairand", "--log",
                                  folder_ / "log.csv", "--out-dir", folder_.path()});
    EXPECT_EQ(made.status, 0) << made.err;
  }

  std::string ShortModel(int max_history_tokens) {
    const std::string model = folder_ / "model";
    std::filesystem::copy(kExample + "/model", model);
    auto config = nlohmann::json::parse(ReadWholeFile(model + "/config.json"));
    config["max_history_tokens"] = max_history_tokens;
    folder_.Write("model/config.json", config.dump());
    return model;
  }

  Outcome Simulate(const std::vector<std::string>& more, const std::string& model) {
    std::vector<std::string> arguments = {"simulate",     "--model",   model, "--data",
                                          folder_.path(), "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunHstu(arguments);
  }
  nlohmann::json Json(const std::vector<std::string>& more,
                      const std::string& model = kExample + "/model") {
    std::vector<std::string> arguments = {"--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Simulate(arguments, model);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
  }

  TestFolder folder_;
};

TEST_F(SimulateCommand, TheCacheSavesTokensAndChangesNoBit) {
  const auto got = Json({"--compare", "--max-batch", "7"});
  EXPECT_EQ(got["users"], 10);
  EXPECT_EQ(got["without_cache"]["different"], 0);
  EXPECT_EQ(got["without_cache"]["answers"], got["requests"]);
  EXPECT_EQ(got["tiers"][0]["tier"], "pool");
  EXPECT_EQ(got["tiers"][0]["hits"].get<int>(), got["requests"].get<int>() - 10)
      << "all but a user's first";
  EXPECT_LT(got["tokens_computed"].get<int>() * 5, got["tokens_asked"].get<int>());
  EXPECT_GT(got["without_cache"]["speed_up"].get<double>(), 0);
  EXPECT_GT(got["cache_seconds"].get<double>(), 0);
  EXPECT_GE(got["latency"]["p99"].get<double>(), got["latency"]["p50"].get<double>());

  const auto uncached = Json({"--no-kv-cache", "--max-batch", "3"});
  EXPECT_EQ(uncached["auc"], got["auc"]);
  EXPECT_EQ(uncached["tokens_computed"], got["tokens_asked"]);
  EXPECT_EQ(uncached["tiers"][0]["hits"], 0);
  EXPECT_TRUE(uncached["cache_seconds"].is_null());
  const auto apart = Json({"--history", "day"});
  EXPECT_LT(apart["tokens_asked"].get<int>(), got["tokens_asked"].get<int>());
  EXPECT_EQ(apart["candidates"], got["candidates"]);
}

// Users that are evicted from a pool that holds one, and histories past the limit.
TEST_F(SimulateCommand, TheSameBitsBelowTheLimitWhateverIsEvicted) {
  const std::string model = ShortModel(96);
  const auto got = Json({"--compare", "--kv-pages", "4", "--max-batch", "5"}, model);
  EXPECT_EQ(got["without_cache"]["different"], 0);
  EXPECT_GT(got["without_cache"]["evicted_answers"].get<int>(), 0);
  EXPECT_EQ(got["without_cache"]["evicted_answers"], got["evicted_answers"]);
  EXPECT_GT(got["resent_requests"].get<int>(), 0);
  // With room for all nobody is sent again, and the cached answers still saw evicted tokens.
  const auto roomy = Json({"--compare"}, model);
  EXPECT_EQ(roomy["resent_requests"], 0);
  EXPECT_GT(roomy["without_cache"]["largest_evicted_difference"].get<double>(), 0);
}

// What leaves a pool for one user comes back from memory; the run to compare with has no tiers.
TEST_F(SimulateCommand, TiersAreCountedApartAndChangeNoBit) {
  const auto got =
      Json({"--compare", "--kv-pages", "4", "--host-bytes", "100000000"}, ShortModel(96));
  EXPECT_EQ(got["without_cache"]["different"], 0);
  ASSERT_EQ(got["tiers"].size(), 2);
  EXPECT_EQ(got["tiers"][1]["tier"], "host");
  EXPECT_GT(got["tiers"][1]["hits"].get<int>(), 0);
  EXPECT_EQ(got["tiers"][0]["tokens"].get<int>() + got["tiers"][1]["tokens"].get<int>(),
            got["tokens_asked"].get<int>() - got["tokens_computed"].get<int>());
}

TEST_F(SimulateCommand, ShowsTablesAndTakesTheOptionsOfTheEngine) {
  const Outcome outcome = Simulate({"--disable-auc", "--disable-context"}, kExample + "/model");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("pool"));
  EXPECT_THAT(outcome.out, HasSubstr("tokens were computed"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("AUC")));
}

TEST_F(SimulateCommand, RefusesWhatCannotBeMeant) {
  const Outcome compare = Simulate({"--compare", "--no-kv-cache"}, kExample + "/model");
  EXPECT_EQ(compare.status, 2);
  EXPECT_THAT(compare.err, HasSubstr("leave out --no-kv-cache"));
  EXPECT_EQ(Simulate({"--max-batch", "0"}, kExample + "/model").status, 2);
  const Outcome missing =
      RunHstu({"simulate", "--model", kExample + "/model", "--data", kExample + "/data"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("processed_seqs_inference.csv is not there"));
}

}  // namespace
}  // namespace hstu
