#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hstu {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const Result<json> value = ParseJson(text);
  if (value.ok()) return "no error";
  EXPECT_EQ(value.error().code, ErrorCode::kBadData);
  EXPECT_LT(value.error().message.size(), 300u);
  // The message itself must fit into an answer.
  EXPECT_NO_THROW(json(value.error().message).dump());
  return value.error().message;
}

TEST(Json, BuildsWhatTheLibraryBuilds) {
  for (const char* text :
       {"null", "true", "-1", "18446744073709551615", "1e-05", R"("a\u00e9")", "[]", "{}",
        R"([1, [2, {"a": [3, {}], "b": null}], 4])", R"({"a": {"b": {"c": [[], {"d": 1.5}]}}})"}) {
    const Result<json> value = ParseJson(text);
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_EQ(value.value(), json::parse(text)) << text;
  }
}

TEST(Json, RefusesWhatIsNoJson) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("unexpected end of input"));
  EXPECT_THAT(ErrorOf("[1, 2"), HasSubstr("column 6"));
  EXPECT_THAT(ErrorOf("[1] [2]"), HasSubstr("expected end of input"));
  EXPECT_THAT(ErrorOf("{\"a\": NaN}"), HasSubstr("invalid literal"));
  EXPECT_THAT(ErrorOf("[1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(ErrorOf(std::string_view("[1,\0 2]", 7)), HasSubstr("column 4"));
}

TEST(Json, RefusesAKeyGivenTwice) {
  EXPECT_THAT(ErrorOf(R"({"a": 1, "b": {"a": 2}, "a": 3})"), HasSubstr("key \"a\" is given twice"));
}

TEST(Json, RefusesDeepNestingHoweverDeep) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_THAT(ErrorOf(std::string(65, '[')), HasSubstr("deeper than 64"));
  EXPECT_THAT(ErrorOf(std::string(10'000'000, '[')), HasSubstr("deeper than 64"));
}

TEST(Json, MessagesAreShortAndValidWhateverTheTextHolds) {
  EXPECT_THAT(ErrorOf("[\"\xff\xfe\"]"), HasSubstr("invalid string: ill-formed UTF-8"));
  EXPECT_THAT(ErrorOf("[\"" + std::string(1'000'000, 'x')), HasSubstr("missing closing quote"));
  EXPECT_THAT(ErrorOf("{\"\xf0\x28\": 1}"), HasSubstr("UTF-8"));
}

TEST(Json, ExcerptsAreCutBetweenCharacters) {
  EXPECT_EQ(Excerpt(json("ab")), "\"ab\"");
  EXPECT_EQ(Excerpt(json("\u00e9\u00e9"), 4), "\"\u00e9...");
}

}  // namespace
}  // namespace hstu
