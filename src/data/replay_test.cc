#include "data/replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string_view>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  // Rows of user_id, date, items, interval_indptr.
  void Rows(const std::string& rows) { Days("user_id,date,video_id,interval_indptr\n" + rows); }
  void Days(const std::string& content) {
    auto days = UserDays::Open(folder_.Write("seqs.csv", content), {"video_id", std::nullopt, {}});
    ASSERT_TRUE(days.ok()) << days.error().message;
    days_.emplace(std::move(days).value());
  }
  Result<Replay> Open(const std::string& batches,
                      const std::string& header = "user_id,date,interval_end_ts,interval_indptr") {
    return Replay::Open(folder_.Write("batches.csv", header + "\n" + batches), *days_);
  }
  // "user:items of the stream" of every moment.
  std::vector<std::string> Moments(const Replay& replay) {
    std::vector<std::string> moments;
    for (const ReplayMoment& moment : replay.moments()) {
      moments.push_back(fmt::format("{}:{}", days_->row(moment.row).user, moment.end));
    }
    return moments;
  }
  std::vector<std::string> MomentsOf(const std::string& batches) {
    auto replay = Open(batches);
    EXPECT_TRUE(replay.ok()) << replay.error().message;
    return Moments(replay.value());
  }
  std::string ErrorOf(const std::string& batches) {
    auto replay = Open(batches);
    return replay.ok() ? "no error" : replay.error().message;
  }

  TestFolder folder_;
  std::optional<UserDays> days_;
};

TEST_F(ReplayTest, GoesByDateThenTimeAndUsersInTurn) {
  Rows(
      "7,1,\"[1, 2, 3]\",\"[0, 1, 3]\"\n7,2,[4],\"[0, 1]\"\n"
      "8,1,\"[1, 2]\",\"[0, 1, 2]\"\n");
  EXPECT_THAT(MomentsOf("7,1,10,1\n7,1,30,3\n7,2,5,1\n8,1,20,1\n8,1,40,2\n"),
              ElementsAre("7:1", "8:1", "7:3", "8:2", "7:4"));
}

TEST_F(ReplayTest, AUsersIntervalsKeepTheirOrderWhereTimesDoNot) {
  Rows("7,1,\"[1, 2, 3]\",\"[0, 1, 2, 3]\"\n8,1,[1],\"[0, 1]\"\n");
  EXPECT_THAT(MomentsOf("7,1,30,1\n7,1,10,2\n7,1,40,3\n8,1,20,1\n"),
              ElementsAre("8:1", "7:1", "7:2", "7:3"));
}

TEST_F(ReplayTest, RowsOfAUserAndDatePairWithTheirBatchesInTheOrderOfTheFiles) {
  Rows("7,1,\"[1, 2]\",\"[0, 1, 2]\"\n9,1,[5],\"[0, 1]\"\n7,1,\"[3, 4]\",\"[0, 1, 2]\"\n");
  EXPECT_THAT(MomentsOf("7,1,10,1\n7,1,20,2\n9,1,15,1\n7,1,12,1\n7,1,22,2\n"),
              ElementsAre("7:1", "9:1", "7:2", "7:3", "7:4"));
  // The second row's first interval could continue the first row's, but is none of its.
  Rows("7,1,[1],\"[0, 1]\"\n7,1,\"[3, 4]\",\"[0, 2]\"\n");
  EXPECT_THAT(MomentsOf("7,1,10,1\n7,1,20,2\n"), ElementsAre("7:1", "7:3"));
}

TEST_F(ReplayTest, BatchesWithoutARowAreSkippedAndCounted) {
  Rows("7,1,[1],\"[0, 1]\"\n");
  auto replay = Open("6,1,10,1\n7,1,10,1\n7,2,10,1\n");
  ASSERT_TRUE(replay.ok());
  EXPECT_THAT(Moments(replay.value()), ElementsAre("7:1"));
  EXPECT_EQ(replay->skipped(), 2);
}

TEST_F(ReplayTest, WithoutDatesAUsersRowsFollowOneAnother) {
  Days("user_id,video_id,interval_indptr\n7,\"[1, 2]\",\"[0, 2]\"\n7,[3],\"[0, 1]\"\n");
  auto replay = Open("7,50,2\n7,40,1\n", "user_id,interval_end_ts,interval_indptr");
  ASSERT_TRUE(replay.ok()) << replay.error().message;
  EXPECT_THAT(Moments(replay.value()), ElementsAre("7:2", "7:3"));
}

TEST_F(ReplayTest, ErrorsNameFileAndLine) {
  Rows("7,1,\"[1, 2, 3]\",\"[0, 1, 3]\"\n");
  for (const char* batches : {"7,1,10,2\n", "7,1,10,4\n", "7,1,10,-1\n", "7,1,10,0\n"}) {
    EXPECT_THAT(ErrorOf(batches), HasSubstr("batches.csv:2: interval_indptr")) << batches;
  }
  EXPECT_THAT(ErrorOf("7,1,10,1\n7,1,10,1\n"),
              HasSubstr("batches.csv:3: interval_indptr 1 is none of those left of user 7"));
  EXPECT_THAT(ErrorOf("7,1,10\n"), HasSubstr("batches.csv:2: the line has 3 of 4 fields"));
  EXPECT_THAT(ErrorOf("7,1,x,1\n"), HasSubstr("batches.csv:2: interval_end_ts \"x\""));
  auto undated = Open("7,10,1\n", "user_id,interval_end_ts,interval_indptr");
  ASSERT_FALSE(undated.ok());
  EXPECT_THAT(undated.error().message, HasSubstr("batches.csv:1: it has no column date"));
  auto untimed = Open("7,1,1\n", "user_id,date,interval_indptr");
  ASSERT_FALSE(untimed.ok());
  EXPECT_THAT(untimed.error().message, HasSubstr("there is no column interval_end_ts"));
}

// What preprocessing writes of several logs, two of one day among them, pairs without a rest.
TEST(ReplayGolden, EveryIntervalOfEveryRowIsReplayedOnce) {
  for (const char* name : {"kuairand", "kuairand_27k", "ml-1m", "ml-20m"}) {
    const std::string folder = std::string(HSTU_GOLDEN_DIR) + "/preprocess_" + name + "/expected/";
    const bool movies = std::string_view(name).starts_with("ml");
    const UserDaysColumns columns{movies ? "movie_id" : "video_id", std::nullopt, {}};
    auto days = UserDays::Open(folder + "processed_seqs_inference.csv", columns);
    ASSERT_TRUE(days.ok()) << days.error().message;
    auto replay = Replay::Open(folder + "processed_batches.csv", days.value());
    ASSERT_TRUE(replay.ok()) << replay.error().message;
    std::int64_t intervals = 0;
    for (const UserDay& day : days->rows()) intervals += day.num_intervals;
    EXPECT_EQ(static_cast<std::int64_t>(replay->moments().size()), intervals) << name;
    std::map<std::int64_t, std::int64_t> reached;
    for (const ReplayMoment& moment : replay->moments()) {
      std::int64_t& end = reached[days->row(moment.row).user];
      ASSERT_GT(moment.end, end) << name;
      end = moment.end;
    }
    for (const UserDay& day : days->rows()) EXPECT_GE(reached[day.user], day.end) << name;
  }
}

}  // namespace
}  // namespace hstu
