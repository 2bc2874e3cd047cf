#include "compile/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compile/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

TEST(Explain, TellsWhatIsFusedAndWhy) {
  const Explanation explanation = Explain(SmallConfig({{2, {}}}), 1, false, {});
  EXPECT_EQ(explanation.FallbackShare(), 0.0);
  const std::string text = ToText(explanation);
  EXPECT_THAT(text, HasSubstr("scores, scale, silu, divide, mask, weigh"));
  EXPECT_THAT(text, HasSubstr("layers.0.norm_mul | layers.0.linear_residual"));
  const auto json = ToJson(explanation);
  EXPECT_EQ(json["kernels"][0]["fuses"].size(), 4u);
  EXPECT_EQ(json["kernels"][0]["outputs"][0]["shape"], "[n0, 32]");
  EXPECT_TRUE(json["kernels"][0]["reason"].is_null());
  EXPECT_FALSE(json["breaks"].empty());
}

TEST(Explain, CountsFallbacksByKernels) {
  const Explanation explanation = Explain(SmallConfig({{2, {}}}), 1, false, {"norm_mul"});
  EXPECT_DOUBLE_EQ(explanation.FallbackShare(), 2.0 / 16.0);
  EXPECT_THAT(ToText(explanation), HasSubstr("norm_mul: --fallback-ops names it"));
}

TEST(Explain, ShowsWhatRanksThatShareKeysCompute) {
  ModelConfig config = SmallConfig({{1, {}}});
  config.attention = AttentionKind::kSoftmax;
  const Explanation explanation = Explain(config, 2, false, {});
  EXPECT_EQ(explanation.FallbackShare(), 0.0);
  EXPECT_THAT(ToText(explanation), HasSubstr("layers.0.attention_update"));
  EXPECT_THAT(ToText(explanation), HasSubstr("layers.0.parts [2, 2 * n0, 16]"));
}

}  // namespace
}  // namespace hstu
