#include "data/log_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace hstu {
namespace {

using testing::HasSubstr;

constexpr const char* kHeader =
    "user_id,video_id,date,hourmin,time_ms,is_click,is_like,is_follow,is_comment,is_forward,"
    "is_hate,long_view,play_time_ms,duration_ms,is_profile_enter\n";

Result<std::vector<Interaction>> ParseText(const LogFormat& format, std::string_view header,
                                           std::string_view text, int threads = 1) {
  HSTU_ASSIGN_OR_RETURN(LogParser parser, LogParser::Create("log.csv", format, header));
  RecordBlock block;
  block.text = text;
  block.first_line = header.empty() ? 1 : 2;
  block.has_quotes = text.find('"') != text.npos;
  std::vector<Interaction> rows;
  HSTU_RETURN_IF_ERROR(ParseInParallel(parser, block, threads, &rows));
  return rows;
}

std::string ErrorOf(std::string_view text, std::string_view header = kHeader) {
  auto rows = ParseText(KuaiRandLog(), header, text);
  return rows.ok() ? "no error" : rows.error().message;
}

TEST(LogParser, ReadsKuaiRandColumnsWhereverTheyStand) {
  auto rows = ParseText(KuaiRandLog(), kHeader, "7,11,20220408,1900,1649,1,0,0,0,0,1,1,5,9,1\n");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  const Interaction& row = rows->at(0);
  EXPECT_EQ(row.user, 7);
  EXPECT_EQ(row.item, 11);
  EXPECT_EQ(row.date, 20220408);
  EXPECT_EQ(row.time, 1649);
  EXPECT_EQ(row.action, 1 + 32 + 64 + 128);
  EXPECT_EQ(row.play_time, 5);
  EXPECT_EQ(row.duration, 9);

  auto moved = ParseText(KuaiRandLog(),
                         "extra,duration_ms,play_time_ms,is_profile_enter,long_view,is_hate,"
                         "is_forward,is_comment,is_follow,is_like,is_click,time_ms,date,video_id,"
                         "user_id\r\n",
                         "x,9,5,1,1,1,0,0,0,0,1,1649,20220408,11,7\r\n");
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_EQ(moved->at(0).user, 7);
  EXPECT_EQ(moved->at(0).action, row.action);
  EXPECT_EQ(moved->at(0).duration, 9);
}

TEST(LogParser, TakesQuotesBlanksBlankLinesAndFloatEvents) {
  auto rows = ParseText(KuaiRandLog(), kHeader,
                        "\n\"7\",11,20220408,\"19,\"\"00\",1649,1.0,0,0,0,0,0,0.0,5,9,0\r\n"
                        "   \n 7 , 12,20220408,,+1650,0,2,0,0,0,0,0,-5,9,0\n");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).action, 1);
  EXPECT_EQ(rows->at(1).item, 12);
  EXPECT_EQ(rows->at(1).time, 1650);
  EXPECT_EQ(rows->at(1).action, 2);
  EXPECT_EQ(rows->at(1).play_time, -5);
}

TEST(LogParser, NamesLineColumnAndValueOfABadField) {
  const std::string good = "7,11,20220408,1900,1649,1,0,0,0,0,0,0,5,9,0\n";
  EXPECT_EQ(ErrorOf(good + "7,11,20220408,1900,soon,1,0,0,0,0,0,0,5,9,0\n"),
            "log.csv:3: time_ms \"soon\" is not an integer");
  EXPECT_EQ(ErrorOf(good + good + "7,,20220408,1900,1,1,0,0,0,0,0,0,5,9,0\n"),
            "log.csv:4: video_id \"\" is not an integer");
  EXPECT_EQ(ErrorOf("7,11,20220408,1900,1649,yes,0,0,0,0,0,0,5,9,0\n"),
            "log.csv:2: is_click \"yes\" is not a number, 0 or 1");
  EXPECT_EQ(ErrorOf("7,99999999999999999999,20220408,1900,1,1,0,0,0,0,0,0,5,9,0\n"),
            "log.csv:2: video_id \"99999999999999999999\" is not an integer");
  EXPECT_EQ(ErrorOf("7,11,202204080000,1900,1649,1,0,0,0,0,0,0,5,9,0\n"),
            "log.csv:2: date \"202204080000\" is not a date such as 20220408");
}

TEST(LogParser, RefusesLinesThatAreTooShortOrTooLong) {
  EXPECT_EQ(ErrorOf("7,11,20220408,19\n"),
            "log.csv:2: the line has 4 of 15 fields; was the file cut?");
  EXPECT_EQ(ErrorOf("7,11,20220408,1900,1649,1,0,0,0,0,0,0,5,9,0,3\n"),
            "log.csv:2: the line has 16 of 15 fields");
}

TEST(LogParser, NamesAMissingOrDoubledColumn) {
  EXPECT_THAT(ErrorOf("", "user_id,video_id\n"), HasSubstr("log.csv:1: there is no column date"));
  EXPECT_THAT(ErrorOf("", std::string("user_id,") + kHeader),
              HasSubstr("column user_id is there 2 times"));
}

TEST(LogParser, CodesRatings) {
  auto whole = ParseText(MovieLens1MLog(), "", "1::10::5::100\n2::20::1::200\n");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->at(0).action, 4);
  EXPECT_EQ(whole->at(1).action, 0);
  EXPECT_EQ(whole->at(1).time, 200);

  const char* header = "userId,movieId,rating,timestamp\n";
  auto half = ParseText(MovieLens20MLog(), header, "1,10,3.5,100\n1,11,4,101\n1,12,4.0,102\n");
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_EQ(half->at(0).action, 6);
  EXPECT_EQ(half->at(1).action, 7);
  EXPECT_EQ(half->at(2).action, 7);
  for (const char* bad : {"1,10,0,100\n", "1,10,5.5,100\n", "1,10,3.25,100\n", "1,10,,100\n"}) {
    EXPECT_FALSE(ParseText(MovieLens20MLog(), header, bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseText(MovieLens1MLog(), "", "1::10::3.5::100\n").ok());
}

TEST(LogParser, TwoThreadsReadWhatOneReads) {
  std::string text;
  for (int i = 0; i < 40000; ++i) {
    text += std::to_string(i) + ",11,20220408,1900,1649,1,0,0,0,0,0,0,5,9,0\n";
  }
  auto rows = ParseText(KuaiRandLog(), kHeader, text, 2);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 40000u);
  for (int i = 0; i < 40000; ++i) ASSERT_EQ(rows->at(static_cast<std::size_t>(i)).user, i);

  auto bad = ParseText(KuaiRandLog(), kHeader, text + "7,x\n", 2);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("log.csv:40002:"));
}

}  // namespace
}  // namespace hstu
