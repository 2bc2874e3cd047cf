#include "data/interaction_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "base/test_files.h"

namespace hstu {
namespace {

// `item` counts rows, so that it tells whether ties kept their order.
std::vector<Interaction> RandomRows(int count, int users, int times, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Interaction> rows(static_cast<std::size_t>(count));
  std::int64_t number = 0;
  for (Interaction& row : rows) {
    row.user = static_cast<std::int64_t>(random() % static_cast<unsigned>(users)) - users / 2;
    row.time = static_cast<std::int64_t>(random() % static_cast<unsigned>(times));
    row.item = number++;
  }
  return rows;
}

void ExpectSame(std::span<const Interaction> got, std::span<const Interaction> expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].user, expected[i].user);
    ASSERT_EQ(got[i].time, expected[i].time);
    ASSERT_EQ(got[i].item, expected[i].item);
  }
}

bool ByUserAndTime(const Interaction& a, const Interaction& b) {
  return std::tie(a.user, a.time) < std::tie(b.user, b.time);
}

struct SpillCase {
  std::int64_t run_rows;
  std::int64_t resident_rows;
};

class UserWalkTest : public testing::TestWithParam<SpillCase> {};

TEST_P(UserWalkTest, GivesEveryUserOnceInTimeOrderWithTiesByLog) {
  TestFolder folder;
  InteractionRuns runs({GetParam().run_rows, GetParam().resident_rows, folder.path()});
  std::vector<Interaction> all;
  for (int log = 0; log < 3; ++log) {
    std::vector<Interaction> rows =
        RandomRows(5000, 90 * (log + 1), 50, 7u + static_cast<unsigned>(log));
    for (Interaction& row : rows) row.item += 1000000 * log;
    rows[17].user = INT64_MIN;
    rows[18].user = INT64_MAX;
    all.insert(all.end(), rows.begin(), rows.end());
    std::span<const Interaction> left = rows;
    for (; !left.empty(); left = left.subspan(std::min<std::size_t>(left.size(), 333))) {
      ASSERT_TRUE(runs.Append(log, left.first(std::min<std::size_t>(left.size(), 333))).ok());
    }
  }
  ASSERT_TRUE(runs.Finish().ok());
  EXPECT_EQ(folder.CountFiles(), 0) << "spilled runs have no name";
  std::stable_sort(all.begin(), all.end(), ByUserAndTime);

  UserWalk walk(runs, 0, 3);
  std::vector<Interaction> walked;
  for (;;) {
    auto more = walk.Next();
    ASSERT_TRUE(more.ok());
    if (!more.value()) break;
    std::size_t count = 0;
    for (const LogPart& part : walk.parts()) {
      count += part.rows.size();
      for (const Interaction& row : part.rows) ASSERT_EQ(row.item / 1000000, part.log);
      EXPECT_TRUE(std::is_sorted(part.rows.begin(), part.rows.end(), ByUserAndTime));
    }
    auto rows = walk.ByTime();
    EXPECT_EQ(rows.size(), count);
    walked.insert(walked.end(), rows.begin(), rows.end());
  }
  ExpectSame(walked, all);
}

INSTANTIATE_TEST_SUITE_P(MemoryOrDisk, UserWalkTest,
                         testing::Values(SpillCase{1 << 20, 1 << 20}, SpillCase{1000, 1 << 20},
                                         SpillCase{1000, 2500}, SpillCase{77, 0}));

TEST(UserWalk, OfOneLogLeavesTheOthersOut) {
  InteractionRuns runs({});
  Interaction row;
  for (int log = 0; log < 3; ++log) {
    row.user = 10 + log;
    ASSERT_TRUE(runs.Append(log, std::span(&row, 1)).ok());
  }
  ASSERT_TRUE(runs.Finish().ok());
  UserWalk walk(runs, 1, 2);
  ASSERT_TRUE(walk.Next().value());
  EXPECT_EQ(walk.parts().front().rows.front().user, 11);
  EXPECT_FALSE(walk.Next().value());
}

}  // namespace
}  // namespace hstu
