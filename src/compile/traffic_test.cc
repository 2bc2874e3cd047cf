#include "compile/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hstu {
namespace {

using testing::ElementsAre;

ModelConfig Config() {
  ModelConfig config;
  config.action_feature = "action";
  config.contextual_features = {"age"};
  config.max_history_tokens = 100;
  return config;
}

Request Make(const char* user, size_t items, size_t candidates) {
  Request request;
  request.user_id = user;
  request.items.resize(items);
  request.candidates.resize(candidates);
  return request;
}

TEST(Traffic, WithoutACacheAllTokensAreComputed) {
  const std::vector<Request> requests = {Make("a", 10, 3), Make("a", 12, 3), Make("b", 80, 3)};
  EXPECT_THAT(ComputedTokens(Config(), requests, false, 8192), ElementsAre(24, 28, 103));
  EXPECT_THAT(ComputedTokens(Config(), requests, false, 64), ElementsAre(24, 28, 64));
}

TEST(Traffic, WithACacheOnlyNewOnes) {
  std::vector<Request> requests = {Make("a", 10, 3), Make("a", 12, 3), Make("a", 4, 0)};
  requests[2].history_start = 11;  // one of which is known
  EXPECT_THAT(ComputedTokens(Config(), requests, true, 8192), ElementsAre(24, 7, 6));
}

TEST(Traffic, LengthsAreQuantilesRoundedUpToPowersOfTwo) {
  std::vector<int64_t> tokens(100, 300);
  for (size_t i = 80; i < 98; ++i) tokens[i] = 1000;
  for (size_t i = 98; i < 100; ++i) tokens[i] = 4096;
  EXPECT_THAT(SeqLensOf(tokens), ElementsAre(512, 1024, 4096));
  EXPECT_THAT(SeqLensOf({7}), ElementsAre(8));
  EXPECT_THAT(SeqLensOf({}), ElementsAre());
}

}  // namespace
}  // namespace hstu
