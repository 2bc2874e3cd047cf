#include "compile/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/aligned.h"

namespace hstu {
namespace {

void ExpectNoOverlap(const std::vector<Lifetime>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_GE(plan.offsets[i], 0);
    ASSERT_EQ(plan.offsets[i] % static_cast<int64_t>(kAlignment), 0);
    ASSERT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (!buffers[i].Meets(buffers[j])) continue;
      const bool apart = plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                         plan.offsets[j] + buffers[j].bytes <= plan.offsets[i];
      ASSERT_TRUE(apart) << "buffers " << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, NoTwoLiveBuffersOverlapInRandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> buffers;
    int64_t all = 0;
    int64_t most_live = 0;
    const auto count = 1 + random() % 20;
    for (unsigned i = 0; i < count; ++i) {
      const int64_t first = random() % 30;
      buffers.push_back({static_cast<int64_t>(random() % 5000), first,
                         first + static_cast<int64_t>(random() % 10)});
      all += RoundUp(buffers.back().bytes, kAlignment);
    }
    for (int64_t at = 0; at < 40; ++at) {
      int64_t live = 0;
      for (const Lifetime& buffer : buffers) {
        if (buffer.first <= at && at <= buffer.last) live += buffer.bytes;
      }
      most_live = std::max(most_live, live);
    }
    const MemoryPlan plan = PlanMemory(buffers);
    ExpectNoOverlap(buffers, plan);
    ASSERT_LE(plan.bytes, all);
    ASSERT_GE(plan.bytes, most_live);
  }
}

TEST(MemoryPlan, BuffersThatNeverMeetShareMemory) {
  const MemoryPlan plan = PlanMemory(std::vector<Lifetime>{{1280, 0, 1}, {1280, 2, 3}});
  EXPECT_EQ(plan.bytes, 1280);
}

// Two stages: rows and their projections, where the second stage's rows are made of the first's.
TEST(MemoryPlan, TwoStagesTakeNoMoreThanOne) {
  const std::vector<Lifetime> buffers = {
      {1280, 0, 2}, {5120, 1, 1}, {1280, 2, 4}, {5120, 3, 3}, {128, 4, 4}};
  const MemoryPlan plan = PlanMemory(buffers);
  ExpectNoOverlap(buffers, plan);
  EXPECT_EQ(plan.bytes, 6400);
}

TEST(MemoryPlan, NothingTakesNothing) { EXPECT_EQ(PlanMemory({}).bytes, 0); }

}  // namespace
}  // namespace hstu
