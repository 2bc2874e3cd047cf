#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace hstu {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string ReadFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

json GoldenConfig() { return json::parse(ReadFile(HSTU_GOLDEN_DIR "/kuairand/model/config.json")); }

std::string ErrorOf(const json& config) {
  const Result<ModelConfig> parsed = ParseConfig(config.dump(), "m/config.json");
  if (parsed.ok()) return "no error";
  EXPECT_EQ(parsed.error().code, ErrorCode::kBadModel);
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  return parsed.error().message;
}

// The error of the golden config with one key changed.
std::string ErrorWith(const char* pointer, json value) {
  json config = GoldenConfig();
  config[json::json_pointer(pointer)] = std::move(value);
  return ErrorOf(config);
}

TEST(Config, ReadsEveryKeyOfAGoldenModel) {
  const Result<ModelConfig> parsed = ParseConfig(GoldenConfig().dump(), "config.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const ModelConfig& config = parsed.value();
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.num_layers, 3);
  EXPECT_EQ(config.attention_width(), 64);
  EXPECT_EQ(config.layernorm_epsilon, 1e-5f);
  EXPECT_TRUE(config.residual);
  EXPECT_EQ(config.scaling_seqlen, 96);
  EXPECT_EQ(config.action_feature, "action_weights");
  EXPECT_EQ(config.tokens_per_item(), 2);
  EXPECT_THAT(config.contextual_features,
              testing::ElementsAre("user_id", "user_active_degree", "register_days"));
  ASSERT_EQ(config.embedding_tables.size(), 5u);
  EXPECT_EQ(config.embedding_tables[3].num_embeddings, 997);
  EXPECT_EQ(config.num_tasks(), 8);
}

TEST(Config, EveryGoldenModelIsReadAndItsJsonMeansTheSame) {
  for (const char* name : {"plain", "kuairand", "softmax", "window", "groups", "contextual_mask",
                           "no_residual", "hierarchical"}) {
    const std::string file = std::string(HSTU_GOLDEN_DIR "/") + name + "/model/config.json";
    const Result<ModelConfig> config = ParseConfig(ReadFile(file), file);
    ASSERT_TRUE(config.ok()) << config.error().message;
    const std::string text = ToJson(config.value()).dump();
    const Result<ModelConfig> again = ParseConfig(text, "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(ToJson(again.value()).dump(), text);
  }
}

TEST(Config, OptionalKeysHaveTheirDefaults) {
  json config = GoldenConfig();
  for (const char* key : {"attention", "contextual_features", "prediction_head_bias"}) {
    config.erase(key);
  }
  config["action_feature"] = nullptr;
  config["stages"] = json::array();
  config["a_key_of_tomorrow"] = {{"x", 1}};
  const Result<ModelConfig> parsed = ParseConfig(config.dump(), "config.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->attention, AttentionKind::kSilu);
  EXPECT_TRUE(parsed->prediction_head_bias);
  EXPECT_EQ(parsed->action_feature, std::nullopt);
  EXPECT_EQ(parsed->tokens_per_item(), 1);
  EXPECT_EQ(parsed->max_attn_len, 0);
  EXPECT_EQ(parsed->target_group_size, 1);
}

TEST(Config, AMissingKeyIsNamedWithWhatItShouldBe) {
  for (const char* key :
       {"architecture", "hidden_size", "num_layers", "num_attention_heads", "kv_channels",
        "layernorm_epsilon", "scaling_seqlen", "max_history_tokens", "max_num_candidates",
        "num_position_buckets", "item_feature", "embedding_tables", "prediction_head_arch"}) {
    json config = GoldenConfig();
    config.erase(key);
    EXPECT_THAT(ErrorOf(config), HasSubstr(std::string("m/config.json: ") + key + " is missing; "));
  }
}

TEST(Config, SizesThatCannotBeAreRefusedWithTheLimit) {
  for (const char* key :
       {"/hidden_size", "/num_layers", "/num_attention_heads", "/kv_channels", "/scaling_seqlen",
        "/max_history_tokens", "/max_num_candidates", "/target_group_size", "/num_position_buckets",
        "/embedding_tables/0/num_embeddings", "/prediction_head_arch/1"}) {
    for (const json& value : {json(-64), json(0), json(64.5), json(64.0), json("64"), json(true),
                              json(1e300), json(INT64_MAX), json(UINT64_MAX), json::array({64})}) {
      EXPECT_THAT(ErrorWith(key, value),
                  AllOf(HasSubstr("m/config.json: "), HasSubstr(value.dump()),
                        HasSubstr("it must be an integer in [1, ")))
          << key;
    }
  }
  EXPECT_THAT(ErrorWith("/max_attn_len", -1), HasSubstr("in [0, "));
}

TEST(Config, NanIsNoJsonAndIsRefused) {
  const Result<ModelConfig> parsed =
      ParseConfig(R"({"architecture": "hstu_ranking", "hidden_size": NaN})", "m/config.json");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, AllOf(HasSubstr("m/config.json"), HasSubstr("NaN")));
}

TEST(Config, HeadsTimesChannelsStaysInBounds) {
  json config = GoldenConfig();
  config["num_attention_heads"] = 1 << 18;
  config["kv_channels"] = 2;
  EXPECT_THAT(ErrorOf(config), HasSubstr("kv_channels is 2; it must be an integer in [1, 1]"));
}

TEST(Config, EpsilonMustBeAPositiveFloat) {
  for (const json& value : {json(0), json(-1e-5), json(1e-60), json(2), json("1e-5")}) {
    EXPECT_THAT(ErrorWith("/layernorm_epsilon", value), HasSubstr("above 0"));
  }
}

TEST(Config, UnknownArchitectureAndAttentionAreRefused) {
  EXPECT_THAT(ErrorWith("/architecture", "llama"), HasSubstr("only \"hstu_ranking\" is known"));
  EXPECT_THAT(ErrorWith("/attention", "linear"),
              HasSubstr("attention is \"linear\"; it must be \"silu\" or \"softmax\""));
  EXPECT_THAT(ErrorWith("/residual", 1), HasSubstr("must be true or false"));
}

TEST(Config, AModelWithoutStagesIsOneStage) {
  json config = GoldenConfig();
  for (const json& stages : {json(), json::array(), json::array({{{"num_layers", 3}}})}) {
    config["stages"] = stages;
    const Result<ModelConfig> parsed = ParseConfig(config.dump(), "config.json");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    ASSERT_EQ(parsed->stages.size(), 1u);
    EXPECT_EQ(parsed->stages[0].num_layers, 3);
    EXPECT_EQ(parsed->stages[0].aggregation.window, 1);
    EXPECT_FALSE(ToJson(parsed.value()).contains("stages"));
  }
}

TEST(Config, StagesAreReadAndWritten) {
  json config = GoldenConfig();
  config["stages"] = json::parse(R"([{"num_layers": 2},
                      {"num_layers": 1, "aggregation_window": 8, "aggregation_stride": 4}])");
  const Result<ModelConfig> parsed = ParseConfig(config.dump(), "config.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->stages.size(), 2u);
  EXPECT_EQ(parsed->stages[1].aggregation.window, 8);
  EXPECT_EQ(parsed->stages[1].aggregation.stride, 4);
  EXPECT_EQ(json(ToJson(parsed.value())["stages"]), config["stages"]);
}

TEST(Config, StagesThatCannotBeAreRefused) {
  const auto error = [](const char* stages) { return ErrorWith("/stages", json::parse(stages)); };
  EXPECT_THAT(error(R"([{"num_layers": 2}])"), HasSubstr("2 layers, num_layers is 3"));
  EXPECT_THAT(error(R"([3])"), HasSubstr("stages[0] is 3; it must be an object"));
  EXPECT_THAT(error(R"([{"num_layers": 3, "aggregation_window": 2}])"),
              HasSubstr("stages[0].aggregation_window is 2; the first stage sees every token"));
  EXPECT_THAT(error(R"([{"num_layers": 2}, {"num_layers": 1, "aggregation_stride": 2}])"),
              HasSubstr("stages[1].aggregation_window is missing"));
  EXPECT_THAT(error(R"([{"num_layers": 2},
                        {"num_layers": 1, "aggregation_window": 2, "aggregation_stride": 3}])"),
              AllOf(HasSubstr("aggregation_stride is 3"), HasSubstr("[1, 2]")));
  EXPECT_THAT(error(R"([{"num_layers": 1},
                {"num_layers": 1, "aggregation_window": 65536, "aggregation_stride": 65536},
                {"num_layers": 1, "aggregation_window": 65536, "aggregation_stride": 65536}])"),
              HasSubstr("multiplied"));
}

TEST(Config, ATableNamedTwiceIsRefused) {
  EXPECT_THAT(ErrorWith("/embedding_tables/1/name", "user_id"),
              HasSubstr("embedding_tables[1].name is \"user_id\"; another table has this name"));
}

TEST(Config, AFeatureHasExactlyOneTable) {
  EXPECT_THAT(ErrorWith("/embedding_tables/1/features/1", "video_id"),
              HasSubstr("table \"user_active_degree\" has this feature already"));
  EXPECT_THAT(ErrorWith("/embedding_tables/3/features/0", "x"),
              HasSubstr("item_feature is \"video_id\"; no table has this feature"));
  EXPECT_THAT(ErrorWith("/contextual_features/3", "x"),
              HasSubstr("contextual_features[3] is \"x\"; no table has this feature"));
  EXPECT_THAT(ErrorWith("/contextual_features/3", "user_id"), HasSubstr("in the list already"));
  EXPECT_THAT(ErrorWith("/action_feature", "video_id"), HasSubstr("it is the item_feature too"));
}

TEST(Config, VocabulariesStayInTheFolderAndOovRowsInTheTable) {
  for (const char* name : {"../ids", "/etc/passwd", "..", "a/b"}) {
    EXPECT_THAT(ErrorWith("/embedding_tables/3/vocabulary", name), HasSubstr("without a path"));
  }
  EXPECT_THAT(ErrorWith("/embedding_tables/3/oov_row", 997), HasSubstr("in [0, 996]"));
  EXPECT_THAT(ErrorWith("/embedding_tables/3/oov_row", 996), HasSubstr("with a vocabulary"));
}

TEST(Config, TaskNamesMatchTheTasks) {
  EXPECT_THAT(ErrorWith("/task_names", json::array({"click"})),
              AllOf(HasSubstr("1 names"), HasSubstr("8 tasks")));
}

TEST(Config, AnEmptyHeadIsRefused) {
  EXPECT_THAT(ErrorWith("/prediction_head_arch", json::array()), HasSubstr("1 to 64 integers"));
}

}  // namespace
}  // namespace hstu
