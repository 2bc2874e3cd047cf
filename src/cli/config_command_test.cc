#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.h"
#include "cli/testing.h"
#include "model/config.h"

namespace hstu {
namespace {

using testing::HasSubstr;

constexpr const char* kGin = R"(
TrainerArgs.seed = 1
DatasetArgs.dataset_name = 'ml-1m'
DatasetArgs.max_sequence_length = 200
DatasetArgs.max_num_candidates = 20
NetworkArgs.num_layers = 1
NetworkArgs.num_attention_heads = 4
NetworkArgs.hidden_size = 128
NetworkArgs.kv_channels = 32
RankingArgs.prediction_head_arch = [64, 1]
)";

TEST(ConfigCommand, PrintsAConfigThatAModelCanHave) {
  TestFolder folder;
  const Outcome outcome =
      RunHstu({"config", "--gin", folder.Write("m.gin", kGin), "--scaling-seqlen", "123"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("m.gin:2: TrainerArgs.seed is not used"));
  const auto config = ParseConfig(outcome.out, "out");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->scaling_seqlen, 123);
  EXPECT_EQ(config->max_history_tokens, 405);
  EXPECT_TRUE(config->contextual_mask);
}

TEST(ConfigCommand, WritesToAFileAndRefusesWhatNoModelCanBe) {
  TestFolder folder;
  const std::string gin = folder.Write("m.gin", kGin);
  const Outcome written = RunHstu({"config", "--gin", gin, "--out", folder / "config.json"});
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_TRUE(ParseConfig(ReadWholeFile(folder / "config.json"), "out").ok());
  const std::string large =
      folder.Write("large.gin", std::string(kGin) + "NetworkArgs.hidden_size = 1000000000\n");
  const Outcome refused = RunHstu({"config", "--gin", large});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("hidden_size"));
  EXPECT_EQ(RunHstu({"config", "--gin", folder / "no.gin"}).status, 2);
}

}  // namespace
}  // namespace hstu
