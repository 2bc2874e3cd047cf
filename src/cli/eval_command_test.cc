#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "cli/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

const std::string kExample = HSTU_SOURCE_DIR "/examples/kuairand";

class EvalCommand : public testing::Test {
 protected:
  EvalCommand() {
    const Outcome made = RunHstu({"preprocess", "--dataset", "kuairand", "--training", "--data-dir",
                                  kExample + "/data", "--out-dir", folder_.path()});
    EXPECT_EQ(made.status, 0) << made.err;
  }

  Outcome Eval(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"eval", "--model", kExample + "/model", "--data",
                                          folder_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunHstu(arguments);
  }

  TestFolder folder_;
};

// What torch computed when the model was trained.
TEST_F(EvalCommand, GivesTheAucsOfTheModelCard) {
  const Outcome outcome = Eval({"--json", folder_ / "eval.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("profile_enter"));
  EXPECT_THAT(outcome.out, HasSubstr("200 of 664 users"));
  const auto got = nlohmann::json::parse(ReadWholeFile(folder_ / "eval.json"));
  const auto expected = nlohmann::json::parse(ReadWholeFile(kExample + "/expected_auc.json"));
  for (std::size_t task = 0; task < 8; ++task) {
    const auto& known = expected["tasks"][task];
    EXPECT_EQ(got["tasks"][task]["task"], known["task"]);
    EXPECT_NEAR(got["tasks"][task]["auc"].get<double>(), known["model"].get<double>(), 1e-4);
    EXPECT_EQ(got["auc"][known["task"].get<std::string>()], got["tasks"][task]["auc"]);
    EXPECT_EQ(got["tasks"][task]["positives"], known["positives"]);
  }
  EXPECT_GT(got["tokens_per_second"].get<double>(), 0);
  EXPECT_GE(got["latency"]["p99"].get<double>(), got["latency"]["p50"].get<double>());
}

TEST_F(EvalCommand, TakesFewerCandidatesAndLessHistoryButNotMoreThanTheModel) {
  const Outcome fewer = Eval({"--candidates", "2", "--max-history", "5", "--keep", "oldest",
                              "--all-users", "--json", "-"});
  ASSERT_EQ(fewer.status, 0) << fewer.err;
  const auto got = nlohmann::json::parse(fewer.out);
  EXPECT_EQ(got["users"], 664);
  EXPECT_EQ(got["candidates"], 2 * 664);
  EXPECT_EQ(got["tokens"], 664 * (1 + 2 * 5 + 2));
  EXPECT_EQ(Eval({"--candidates", "9"}).status, 2);
  EXPECT_THAT(Eval({"--max-history", "1024"}).err, HasSubstr("1023 items that fit"));
}

TEST_F(EvalCommand, NamesTheFolderWithoutProcessedFiles) {
  const Outcome outcome =
      RunHstu({"eval", "--model", kExample + "/model", "--data", kExample + "/data"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("processed_seqs.csv is not there"));
}

}  // namespace
}  // namespace hstu
