#include "model/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hstu {
namespace {

ModelConfig Small() {
  ModelConfig config;
  config.hidden_size = 8;
  config.num_layers = 2;
  config.stages = {{2, {}}};
  config.num_attention_heads = 3;
  config.kv_channels = 4;
  config.max_history_tokens = 10;
  config.prediction_head_arch = {6, 5};
  return config;
}

TEST(Describe, CountsFlopsOfEachPart) {
  const Flops flops = CountFlops(Small());
  EXPECT_EQ(flops.linear_per_token, 2 * 2 * (8 * 48 + 12 * 8));
  EXPECT_EQ(flops.attention_per_pair, 2 * 4 * 12);
  EXPECT_EQ(flops.head_per_candidate, 2 * (8 * 6 + 6 * 5));
  // A token sees itself and those before: (1 + ... + 10) / 10 = 5.5.
  EXPECT_EQ(flops.per_token_at_limit, flops.linear_per_token + flops.attention_per_pair * 11 / 2);
}

TEST(Describe, AWindowBoundsWhatATokenSees) {
  ModelConfig config = Small();
  config.max_attn_len = 2;  // itself and two before: (1 + 2 + 8 * 3) / 10 = 2.7
  const Flops flops = CountFlops(config);
  EXPECT_NEAR(flops.per_token_at_limit - flops.linear_per_token, 2.7 * flops.attention_per_pair,
              1.0);
}

TEST(Describe, LaterStagesHaveFewerTokens) {
  ModelConfig config = Small();
  config.stages = {{1, {}}, {1, {4, 2}}};  // of 10 tokens: 4 windows
  const Flops flops = CountFlops(config);
  const double linear = 2 * (8 * 48 + 12 * 8) * (10 + 4);
  const double attention = 4 * 12 * (10 * 11 / 2 + 4 * 5 / 2);
  EXPECT_NEAR(flops.per_token_at_limit, (linear + attention) / 10, 1.0);
}

TEST(Describe, SumsUpAGoldenModel) {
  const Result<ModelFiles> model = ModelFiles::Load(HSTU_GOLDEN_DIR "/kuairand/model");
  ASSERT_TRUE(model.ok());
  const auto description = Describe(model.value());
  EXPECT_EQ(description["parameters"]["tables"], (50 + 8 + 8 + 997 + 233) * 64);
  EXPECT_EQ(description["memory"]["mapped_table_bytes"], (50 + 8 + 8 + 997 + 233) * 64 * 4);
  EXPECT_EQ(description["memory"]["kv_bytes_per_token_f32"], 2 * 3 * 64 * 4);
  EXPECT_EQ(description["tables"].size(), 5u);
  EXPECT_EQ(description["tables"][3]["rows"], 997);
  EXPECT_EQ(description["fingerprint"].get<std::string>().size(), 32u);
}

}  // namespace
}  // namespace hstu
