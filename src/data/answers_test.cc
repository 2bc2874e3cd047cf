#include "data/answers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace hstu {
namespace {

using nlohmann::json;

Answer TwoTasks(std::vector<float> logits) {
  Answer answer;
  answer.num_tasks = 2;
  answer.logits = std::move(logits);
  answer.history_items = 2;
  return answer;
}

TEST(Answers, HaveTheKeysOfTheFormat) {
  const std::vector<std::int64_t> candidates = {12, 40};
  Answer answer = TwoTasks({0.5f, -1.0f, 1e-8f, 3.0f});
  EXPECT_EQ(FormatAnswer("u7", answer, candidates),
            R"({"user_id": "u7", "logits": [[0.5, -1.0], [1e-08, 3.0]], "history_items": 2, )"
            R"("cached_tokens": 0})");
  answer.evicted_tokens = 32;
  EXPECT_EQ(json::parse(FormatAnswer(17, answer, candidates))["evicted_tokens"], 32);
}

TEST(Answers, NoCandidatesGiveNoLogits) {
  EXPECT_EQ(FormatAnswer(nullptr, TwoTasks({}), {}, {.top_k = 3, .probabilities = true}),
            R"({"user_id": null, "logits": [], "probabilities": [], "top_k": [[], []], )"
            R"("history_items": 2, "cached_tokens": 0})");
}

TEST(Answers, EveryFloatReadsBackToTheSameBits) {
  std::uint32_t bits = 1;
  Answer answer;
  answer.num_tasks = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    if (const float value = std::bit_cast<float>(bits); std::isfinite(value)) {
      answer.logits.push_back(value);
    }
  }
  for (const float value : {0.0f, -0.0f, 1.0f, 16777216.0f, 0x1p-149f, -3.4028235e38f}) {
    answer.logits.push_back(value);
  }
  const std::vector<std::int64_t> candidates(answer.logits.size());
  const json parsed = json::parse(FormatAnswer("u", answer, candidates));
  for (std::size_t i = 0; i < answer.logits.size(); ++i) {
    const auto value = static_cast<float>(parsed["logits"][i][0].get<double>());
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(answer.logits[i]))
        << answer.logits[i];
  }
}

TEST(Answers, TopKNamesTheBestOfEachTaskEarlierOnesFirst) {
  const std::vector<std::int64_t> candidates = {12, 40, 7};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const json answer = json::parse(
      FormatAnswer("u", TwoTasks({1, nan, 2, 0.5f, 2, 0.25f}), candidates, {.top_k = 2}));
  const auto entry = [](int candidate, float logit) {
    return json{{"candidate", candidate}, {"logit", logit}};
  };
  EXPECT_EQ(answer["top_k"][0], json::array({entry(40, 2), entry(7, 2)}));
  EXPECT_EQ(answer["top_k"][1], json::array({entry(40, 0.5), entry(7, 0.25)}));
}

TEST(Answers, ProbabilitiesAreSigmoidsOfTheLogits) {
  const std::vector<std::int64_t> candidates = {12};
  const json answer =
      json::parse(FormatAnswer("u", TwoTasks({0, -200}), candidates, {.probabilities = true}));
  EXPECT_EQ(answer["probabilities"][0][0], 0.5);
  EXPECT_NEAR(answer["probabilities"][0][1].get<double>(), 0.0, 1e-30);
}

TEST(Answers, WhatIsNotFiniteIsNull) {
  const std::vector<std::int64_t> candidates = {12};
  const float infinity = std::numeric_limits<float>::infinity();
  const json answer = json::parse(FormatAnswer("u", TwoTasks({infinity, -infinity}), candidates));
  EXPECT_TRUE(answer["logits"][0][0].is_null());
}

TEST(Answers, ErrorsAreAnsweredWithCodeAndMessage) {
  Answer answer;
  answer.error = Error{ErrorCode::kIdOutOfRange, "video_id \"x\" \xff"};
  const json parsed = json::parse(FormatAnswer(17, answer, {}));
  EXPECT_EQ(parsed["user_id"], 17);
  EXPECT_EQ(parsed["error"]["code"], "id_out_of_range");
  EXPECT_EQ(parsed["error"]["message"], "video_id \"x\" \uFFFD");
}

}  // namespace
}  // namespace hstu
