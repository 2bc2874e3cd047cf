#include "compile/attention_update_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hstu {
namespace {

using testing::HasSubstr;

const Dim kRanks{4, ""};
const Dim kRows{2, "n0"};
const Dim kChannels{128, ""};

std::string ErrorOf(const Shape& lse, const Shape& parts) {
  const Result<AttentionUpdateShapes> shapes = InferAttentionUpdate(lse, parts);
  return shapes.ok() ? "" : shapes.error().message;
}

TEST(AttentionUpdateShapes, RanksAreGone) {
  const Result<AttentionUpdateShapes> shapes =
      InferAttentionUpdate({kRanks, kRows}, {kRanks, kRows, kChannels});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->out, (Shape{kRows, kChannels}));
  EXPECT_EQ(shapes->lse, (Shape{kRows}));
}

TEST(AttentionUpdateShapes, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(ErrorOf({kRanks}, {kRanks, kRows, kChannels}), HasSubstr("lse is [4]"));
  EXPECT_THAT(ErrorOf({kRows, kRows}, {kRows, kRows, kChannels}), HasSubstr("sp of at least 1"));
  EXPECT_THAT(ErrorOf({{0, ""}, kRows}, {{0, ""}, kRows, kChannels}), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf({kRanks, kRows}, {kRanks, kRows}), HasSubstr("local_out is [4, 2 * n0]"));
  EXPECT_THAT(ErrorOf({kRanks, kRows}, {kRanks, kChannels, kChannels}),
              HasSubstr("local_out is [4, 128, 128]"));
}

}  // namespace
}  // namespace hstu
