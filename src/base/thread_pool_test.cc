#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <vector>

namespace hstu {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t tasks : {0, 1, 2, 3, 100, 1001}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.Run(tasks, [&](int64_t task, int thread) {
        ASSERT_GE(thread, 0);
        ASSERT_LT(thread, threads);
        ++runs[task];
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, ResultsOfOneRunAreVisibleToTheNext) {
  ThreadPool pool(3);
  std::vector<int64_t> values(512);
  std::iota(values.begin(), values.end(), 0);
  for (int round = 0; round < 2000; ++round) {
    pool.Run(512, [&](int64_t task, int) { values[task] = values[task] + 1; });
  }
  for (int64_t i = 0; i < 512; ++i) EXPECT_EQ(values[i], i + 2000);
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  std::atomic<int> sum = 0;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.Run(10, [&](int64_t, int) { ++sum; });
  }
  EXPECT_EQ(sum, 30);
}

}  // namespace
}  // namespace hstu
