#include "data/user_days.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const UserDaysColumns kColumns = {"video_id", "action_weights", {"degree"}};
const std::string kHeader = "user_id,date,video_id,action_weights,interval_indptr,degree\n";

class UserDaysTest : public testing::Test {
 protected:
  UserDays Open(const std::string& content, const UserDaysColumns& columns = kColumns) {
    auto days = UserDays::Open(folder_.Write("seqs.csv", content), columns);
    EXPECT_TRUE(days.ok()) << days.error().message;
    return std::move(days).value();
  }
  std::string ErrorOf(const std::string& content) {
    auto days = UserDays::Open(folder_.Write("seqs.csv", content), kColumns);
    return days.ok() ? "no error" : days.error().message;
  }

  TestFolder folder_;
  std::vector<std::int64_t> items_;
  std::vector<std::int64_t> actions_;
};

TEST_F(UserDaysTest, AStreamIsAUsersDaysByDateAndRowsOfADayInTheOrderOfTheFile) {
  const UserDays days = Open(kHeader +
                             "8,20220409,[80],[1],\"[0, 1]\",5\n"
                             "7,20220409,\"[30, 31]\",\"[3, 4]\",\"[0, 1, 2]\",6\n"
                             "7,20220408,\"[10, 11]\",\"[1, 2]\",\"[0, 2]\",7\n"
                             "7,20220408,[20],[8],\"[0, 1]\",8\n");
  EXPECT_TRUE(days.has_dates());
  EXPECT_EQ(days.num_users(), 2);
  EXPECT_EQ(days.Find(7, 20220408), (std::pair<std::int64_t, std::int64_t>(0, 2)));
  const auto [none, end] = days.Find(7, 20220410);
  EXPECT_EQ(none, end);
  EXPECT_EQ(days.StreamItems(1), 5);
  days.Copy(2, 0, 5, &items_, &actions_);
  EXPECT_THAT(items_, ElementsAre(10, 11, 20, 30, 31));
  EXPECT_THAT(actions_, ElementsAre(1, 2, 8, 3, 4));
  days.Copy(0, 1, 4, &items_, &actions_);
  EXPECT_THAT(items_, ElementsAre(11, 20, 30));
  days.Copy(0, 5, 5, &items_, &actions_);
  EXPECT_THAT(items_, IsEmpty());
  EXPECT_THAT(days.Intervals(2), ElementsAre(1, 2));
  EXPECT_THAT(days.Contextual(0), ElementsAre(7));
  EXPECT_THAT(days.Contextual(3), ElementsAre(5));
  EXPECT_EQ(days.row(2).line, 3);
  EXPECT_EQ(days.FirstRowOfDay(1), 0);
  EXPECT_EQ(days.FirstRowOfDay(2), 2);
}

TEST_F(UserDaysTest, WithoutDatesARowIsADay) {
  const UserDays days =
      Open("user_id,video_id,interval_indptr\n7,\"[1, 2]\",\"[0, 2]\"\n7,[3],\"[0, 1]\"\n",
           {"video_id", std::nullopt, {}});
  EXPECT_FALSE(days.has_dates());
  EXPECT_EQ(days.FirstRowOfDay(1), 1);
  days.Copy(1, 0, 3, &items_, &actions_);
  EXPECT_THAT(items_, ElementsAre(1, 2, 3));
  EXPECT_THAT(actions_, ElementsAre(0, 0, 0)) << "they were not asked for";
}

TEST_F(UserDaysTest, ErrorsNameFileAndLine) {
  EXPECT_THAT(ErrorOf("user_id,date,video_id,action_weights,degree\n"),
              HasSubstr("seqs.csv:1: there is no column interval_indptr"));
  EXPECT_THAT(ErrorOf(kHeader + "7,1,\"[1, 2]\",[1],\"[0, 2]\",1\n"),
              HasSubstr("seqs.csv:2: the row has 2 items and 1 actions"));
  for (const char* bounds : {"[]", "[0]", "\"[1, 2]\"", "\"[0, 1]\"", "\"[0, 3]\"", "\"[0, 0, 2]\"",
                             "\"[0, 2, 1, 2]\""}) {
    EXPECT_THAT(ErrorOf(kHeader + "7,1,\"[1, 2]\",\"[1, 2]\"," + bounds + ",1\n"),
                HasSubstr("seqs.csv:2: interval_indptr must ascend from 0 to the 2 items"))
        << bounds;
  }
  EXPECT_THAT(ErrorOf(kHeader + "7,1,[],[],[0],1\n"), HasSubstr("no error"));
}

}  // namespace
}  // namespace hstu
