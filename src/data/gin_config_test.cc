#include "data/gin_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kInference = R"(
DatasetArgs.dataset_name = 'kuairand-1k'
DatasetArgs.max_sequence_length = 2048
DatasetArgs.max_num_candidates = 256
NetworkArgs.num_layers = 2
NetworkArgs.num_attention_heads = 4
NetworkArgs.hidden_size = 128
NetworkArgs.kv_channels = 32
NetworkArgs.dtype_str = "bfloat16"
RankingArgs.prediction_head_arch = [
    128, 8,
]
RankingArgs.prediction_head_bias = False
RankingArgs.num_tasks = 8
)";

struct Converted {
  nlohmann::json config;
  std::vector<std::string> warnings;
  std::string error;
};

Converted Convert(const std::string& text, std::optional<std::int64_t> scaling = std::nullopt) {
  auto gin = ParseGin(text, "x.gin");
  if (!gin.ok()) return {{}, {}, gin.error().message};
  auto converted = ConfigFromGin(gin.value(), "x.gin", scaling);
  if (!converted.ok()) return {{}, {}, converted.error().message};
  return {nlohmann::json::parse(converted->json), converted->warnings, ""};
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::vector<std::int64_t> TableSizes(const nlohmann::json& config) {
  std::vector<std::int64_t> sizes;
  for (const auto& table : config["embedding_tables"]) sizes.push_back(table["num_embeddings"]);
  return sizes;
}

TEST(ConfigFromGin, GivesAnInferenceModelOfKuaiRand1K) {
  Converted got = Convert(kInference);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.warnings, IsEmpty());
  EXPECT_EQ(got.config["architecture"], "hstu_ranking");
  EXPECT_EQ(got.config["hidden_size"], 128);
  EXPECT_EQ(got.config["kv_channels"], 32);
  EXPECT_EQ(got.config["layernorm_epsilon"], 1e-5);
  EXPECT_EQ(got.config["max_history_tokens"], 2 * 2048 + 6);
  EXPECT_EQ(got.config["scaling_seqlen"], 2 * 2048 + 6);
  EXPECT_EQ(got.config["max_num_candidates"], 256);
  EXPECT_EQ(got.config["num_position_buckets"], 8192);
  EXPECT_EQ(got.config["contextual_mask"], false);
  EXPECT_EQ(got.config["prediction_head_arch"], nlohmann::json({128, 8}));
  EXPECT_EQ(got.config["prediction_head_bias"], false);
  EXPECT_EQ(got.config["item_feature"], "video_id");
  EXPECT_EQ(got.config["contextual_features"][1], "user_active_degree");
  EXPECT_THAT(TableSizes(got.config), ElementsAre(1000, 8, 9, 9, 8, 8, 10000000, 233));
  EXPECT_EQ(got.config["task_names"][7], "profile_enter");
}

TEST(ConfigFromGin, HistoryLengthCountsCandidatesIntoTheScale) {
  Converted got = Convert(Replaced(kInference, "max_sequence_length", "max_history_seqlen"));
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.config["max_history_tokens"], 2 * 2048 + 6);
  EXPECT_EQ(got.config["scaling_seqlen"], 2 * (2048 + 256) + 6);
  got = Convert(std::string(kInference) + "NetworkArgs.scaling_seqlen = 77\n");
  EXPECT_EQ(got.config["scaling_seqlen"], 77);
  got = Convert(std::string(kInference) + "NetworkArgs.scaling_seqlen = 77\n", 99);
  EXPECT_EQ(got.config["scaling_seqlen"], 99);
}

TEST(ConfigFromGin, TheContextualMaskIsOnInTrainingFilesUnlessDisabled) {
  std::string training = std::string(kInference) + "TrainerArgs.seed = 1\n";
  EXPECT_EQ(Convert(training).config["contextual_mask"], true);
  std::string disabled = "NetworkArgs.disable_contextual_mask = True\n";
  EXPECT_EQ(Convert(training + disabled).config["contextual_mask"], false);
  EXPECT_EQ(Convert(kInference + disabled).config["contextual_mask"], false);
  Converted doubtful = Convert(Replaced(kInference + disabled, "= True", "= False"));
  EXPECT_EQ(doubtful.config["contextual_mask"], false);
  EXPECT_THAT(doubtful.warnings, ElementsAre(HasSubstr("disable_contextual_mask")));
}

TEST(ConfigFromGin, KnowsTheTablesOfEveryDataset) {
  auto sizes = [](const char* dataset) {
    Converted got = Convert(Replaced(kInference, "kuairand-1k", dataset));
    EXPECT_EQ(got.error, "");
    return TableSizes(got.config);
  };
  EXPECT_THAT(sizes("kuairand-pure"), ElementsAre(10000000, 10, 9, 10, 8, 8, 10000000, 226));
  EXPECT_THAT(sizes("kuairand-27k"), ElementsAre(10000000, 10, 9, 10, 8, 8, 32038725, 246));
  EXPECT_THAT(sizes("ml-1m"), ElementsAre(10000000, 3, 8, 22, 3440, 10000000, 11));
  EXPECT_THAT(sizes("ml-20m"), ElementsAre(10000000, 10000000, 11));
  Converted movies = Convert(Replaced(kInference, "kuairand-1k", "ml-20m"));
  EXPECT_EQ(movies.config["max_history_tokens"], 2 * 2048 + 1);
  EXPECT_EQ(movies.config["action_feature"], "rating");
  EXPECT_FALSE(movies.config.contains("task_names"));
}

TEST(ConfigFromGin, WarnsOnceOfEveryKeyThatItDoesNotUse) {
  Converted got = Convert(std::string(kInference) +
                          "NetworkArgs.kernel_backend = 'cutlass'\nOptimizerArgs.beta = 0.9\n"
                          "OptimizerArgs.beta = 0.8\n");
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("x.gin:15: NetworkArgs.kernel_backend is not"),
                                        HasSubstr("x.gin:17: OptimizerArgs.beta is not used")));
  got = Convert(Replaced(kInference, "num_tasks = 8", "num_tasks = 1"));
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("num_tasks = 1 differs from the 8 outputs")));
}

TEST(ConfigFromGin, RefusesWhatIsMissingOrWrong) {
  auto error = [](const std::string& from, const std::string& to) {
    return Convert(Replaced(kInference, from, to)).error;
  };
  EXPECT_EQ(error("NetworkArgs.num_layers = 2", ""), "x.gin: NetworkArgs.num_layers is missing");
  EXPECT_EQ(error("num_layers = 2", "num_layers = 0"),
            "x.gin:5: NetworkArgs.num_layers must be an integer from 1 to 1073741824");
  EXPECT_THAT(error("= 2048", "= '2048'"), HasSubstr("x.gin:3: DatasetArgs.max_sequence_length"));
  EXPECT_THAT(error("'kuairand-1k'", "'other'"), HasSubstr("x.gin:2: DatasetArgs.dataset_name"));
  EXPECT_THAT(error("128, 8,", "128, 'x'"), HasSubstr("must be a list of sizes such as [512, 8]"));
  EXPECT_THAT(error("\"bfloat16\"", "'int8'"), HasSubstr("NetworkArgs.dtype_str must be"));
  EXPECT_THAT(error("max_sequence_length = 2048", "shuffle = True"),
              HasSubstr("DatasetArgs.max_history_seqlen is missing"));
}

}  // namespace
}  // namespace hstu
