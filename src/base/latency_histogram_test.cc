#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace hstu {
namespace {

TEST(LatencyHistogram, IsWithinHalfAPercentOfTheExactQuantile) {
  std::mt19937 random(1);
  std::vector<double> all;
  LatencyHistogram histogram;
  for (int i = 0; i < 10000; ++i) {
    double seconds = 1e-6 * std::exp(static_cast<double>(random() % 10000) / 500);
    all.push_back(seconds);
    histogram.Add(seconds);
  }
  std::sort(all.begin(), all.end());
  for (double quantile : {0.0, 0.5, 0.9, 0.99, 1.0}) {
    auto rank = std::max(1.0, std::ceil(quantile * 10000));
    double exact = all[static_cast<std::size_t>(rank) - 1];
    EXPECT_NEAR(histogram.Quantile(quantile), exact, 0.0051 * exact) << quantile;
  }
}

TEST(LatencyHistogram, TakesExtremesAndNothing) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(1e9);
  EXPECT_GT(histogram.Quantile(1), 1000);
}

}  // namespace
}  // namespace hstu
