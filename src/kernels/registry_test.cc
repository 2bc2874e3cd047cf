#include "kernels/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/operators.h"

namespace hstu {
namespace {

using testing::HasSubstr;

TEST(Registry, TwoOperatorsOfOneNameAreAnErrorThatNamesBothOrigins) {
  OperatorRegistry registry;
  ASSERT_TRUE(registry.Add({"gelu", "mine.cc", "", {}}).ok());
  const Status status = registry.Add({"gelu", "yours.cc", "", {}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("mine.cc"));
  EXPECT_THAT(status.error().message, HasSubstr("yours.cc"));
}

TEST(Registry, EveryBuiltinRunsOnEveryIsaAndPlain) {
  const auto registry = BuiltinOperators();
  ASSERT_TRUE(registry.ok());
  for (const Isa isa : SupportedIsas()) {
    for (const char* fused : {"all", "none", "norm_mul", "hstu_attention,norm_mul"}) {
      const auto operators = SelectOperators(registry.value(), isa, fused);
      ASSERT_TRUE(operators.ok());
      EXPECT_NE(operators->hstu_attention, nullptr);
      EXPECT_NE(operators->linear, nullptr);
    }
  }
}

TEST(Registry, FusedOpsTakesNamesAndRefusesUnknownOnes) {
  const auto registry = BuiltinOperators();
  const auto some = SelectOperators(registry.value(), Isa::kScalar, "norm_mul");
  EXPECT_EQ(some->norm_mul, NormMulFor(Isa::kScalar));
  EXPECT_EQ(some->linear, LinearPlain);
  for (const char* wrong : {"", "norm", "norm_mul,", "all,none"}) {
    EXPECT_FALSE(SelectOperators(registry.value(), Isa::kScalar, wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace hstu
