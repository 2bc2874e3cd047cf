#include "data/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hstu {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string ErrorOf(std::string_view line, json user_id = nullptr) {
  const ParsedRequest parsed = ParseRequest(line, 7);
  EXPECT_EQ(parsed.user_id, user_id);
  if (parsed.request.ok()) return "no error";
  EXPECT_EQ(parsed.request.error().code, ErrorCode::kBadRequest);
  EXPECT_THAT(parsed.request.error().message, StartsWith("line 7: "));
  EXPECT_LT(parsed.request.error().message.size(), 500u);
  return parsed.request.error().message;
}

TEST(Requests, ReadsEveryKey) {
  const ParsedRequest parsed = ParseRequest(
      R"({"user_id": "u7", "contextual": {"user_active_degree": 3, "age": -1},
          "history": {"items": [5, 9223372036854775807], "actions": [1, 65]},
          "history_start": 0, "candidates": [12, 40, 7], "tomorrow": [1.5]})",
      1);
  ASSERT_TRUE(parsed.request.ok()) << parsed.request.error().message;
  EXPECT_EQ(parsed.user_id, "u7");
  const Request& request = parsed.request.value();
  EXPECT_EQ(request.user_id, "u7");
  EXPECT_THAT(request.contextual,
              testing::UnorderedElementsAre(testing::Pair("user_active_degree", 3),
                                            testing::Pair("age", -1)));
  EXPECT_THAT(request.items, ElementsAre(5, INT64_MAX));
  EXPECT_THAT(request.actions, ElementsAre(1, 65));
  EXPECT_EQ(request.history_start, 0);
  EXPECT_THAT(request.candidates, ElementsAre(12, 40, 7));
}

TEST(Requests, WhatIsOptionalMayBeAbsentOrNull) {
  for (const char* line :
       {R"({"history": {"items": []}, "candidates": []})",
        R"({"user_id": null, "contextual": null, "history": {"items": [], "actions": null},
            "history_start": null, "candidates": []})"}) {
    const ParsedRequest parsed = ParseRequest(line, 1);
    ASSERT_TRUE(parsed.request.ok()) << parsed.request.error().message;
    EXPECT_EQ(parsed.request->user_id, std::nullopt);
    EXPECT_EQ(parsed.request->history_start, std::nullopt);
    EXPECT_TRUE(parsed.request->candidates.empty());
  }
}

TEST(Requests, SeventeenIsOneUserHoweverWrittenAndIsAnsweredAsWritten) {
  const ParsedRequest number =
      ParseRequest(R"({"user_id": 17, "history": {"items": []}, "candidates": []})", 1);
  const ParsedRequest text =
      ParseRequest(R"({"user_id": "17", "history": {"items": []}, "candidates": []})", 2);
  EXPECT_EQ(number.request->user_id, text.request->user_id);
  EXPECT_EQ(number.user_id.dump(), "17");
  EXPECT_EQ(text.user_id.dump(), "\"17\"");
}

TEST(Requests, ALineThatIsNoObjectIsAnErrorWithItsNumber) {
  for (const char* line : {"", "   ", "[]", "17", "\"u\"", "null", "{", "{}}", "{\"a\"}", "xyz",
                           "{\"user_id\": \"u\", }", "{\"candidates\": [NaN]}"}) {
    EXPECT_THAT(ErrorOf(line), HasSubstr("it is no JSON object")) << line;
  }
}

TEST(Requests, MissingKeysAreNamedAndTheUserIsKept) {
  EXPECT_THAT(ErrorOf(R"({"user_id": 3, "history": {"items": []}})", 3),
              HasSubstr("candidates is missing"));
  EXPECT_THAT(ErrorOf(R"({"user_id": "u", "candidates": []})", "u"),
              HasSubstr("history is missing"));
  EXPECT_THAT(ErrorOf(R"({"user_id": "u", "history": {}, "candidates": []})", "u"),
              HasSubstr("history.items is missing"));
}

TEST(Requests, OnlyIntegersOf64BitsAreIds) {
  for (const char* id : {"1.0", "1e3", "true", "\"5\"", "null", "[1]", "{}", "9223372036854775808",
                         "-9223372036854775809", "100000000000000000000"}) {
    const std::string value(id);
    EXPECT_THAT(ErrorOf(R"({"history": {"items": []}, "candidates": [3, )" + value + "]}"),
                HasSubstr("candidates[1] is "));
    EXPECT_THAT(ErrorOf(R"({"history": {"items": [)" + value + R"(]}, "candidates": []})"),
                HasSubstr("history.items[0] is "));
    EXPECT_THAT(
        ErrorOf(R"({"history": {"items": [1], "actions": [)" + value + R"(]}, "candidates": []})"),
        HasSubstr("history.actions[0] is "));
    EXPECT_THAT(ErrorOf(R"({"contextual": {"age": )" + value +
                        R"(}, "history": {"items": []}, "candidates": []})"),
                HasSubstr("contextual \"age\" is "));
  }
}

TEST(Requests, TypesAreChecked) {
  const auto with = [](const char* field) {
    return ErrorOf(std::string("{") + field + R"(, "history": {"items": []}, "candidates": []})");
  };
  EXPECT_THAT(with(R"("user_id": 1.5)"), HasSubstr("user_id is 1.5"));
  EXPECT_THAT(with(R"("user_id": true)"), HasSubstr("user_id is true"));
  EXPECT_THAT(with(R"("user_id": ["u"])"), HasSubstr("user_id is [\"u\"]"));
  EXPECT_THAT(with(R"("contextual": [])"), HasSubstr("contextual is []"));
  EXPECT_THAT(with(R"("history_start": -1)"), HasSubstr("history_start is -1"));
  EXPECT_THAT(with(R"("history_start": 0.0)"), HasSubstr("history_start is 0.0"));
  EXPECT_THAT(ErrorOf(R"({"history": [], "candidates": []})"), HasSubstr("history is []"));
  EXPECT_THAT(ErrorOf(R"({"history": {"items": 5}, "candidates": []})"),
              HasSubstr("history.items is 5; it must be an array"));
  EXPECT_THAT(ErrorOf(R"({"history": {"items": []}, "candidates": {}})"),
              HasSubstr("candidates is {}"));
}

TEST(Requests, EachItemNeedsOneAction) {
  EXPECT_THAT(ErrorOf(R"({"history": {"items": [1, 2], "actions": [1]}, "candidates": []})"),
              HasSubstr("2 items and 1 actions"));
}

TEST(Requests, AKeyGivenTwiceIsRefused) {
  EXPECT_THAT(ErrorOf(R"({"history": {"items": []}, "candidates": [1], "candidates": [2]})"),
              HasSubstr("\"candidates\" is given twice"));
}

TEST(Requests, HostileLinesAreAnswered) {
  EXPECT_THAT(ErrorOf(std::string(5'000'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(ErrorOf("{\"user_id\": \"\xff\"}"), HasSubstr("UTF-8"));
  EXPECT_THAT(ErrorOf(std::string_view("{\0}", 3)), HasSubstr("no JSON object"));
  EXPECT_THAT(ErrorOf("{\"user_id\": \"" + std::string(1'000'000, 'x')), HasSubstr("quote"));
  EXPECT_THAT(ErrorOf(std::string(kMaxRequestBytes + 1, ' ')), HasSubstr("more than 16777216"));
}

}  // namespace
}  // namespace hstu
