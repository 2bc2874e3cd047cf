#include "data/auc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hstu {
namespace {

struct Scored {
  float score;
  bool positive;
};

// How far the pair is on the right side: 1, a half for a tie, or 0.
double Kernel(const Scored& positive, const Scored& negative) {
  if (positive.score == negative.score) return 0.5;
  return positive.score > negative.score ? 1 : 0;
}

double SampleVariance(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

// Every pair looked at, and DeLong's variance written down as the paper defines it.
Auc BruteForce(const std::vector<Scored>& all) {
  std::vector<Scored> positives;
  std::vector<Scored> negatives;
  for (const Scored& one : all) (one.positive ? positives : negatives).push_back(one);
  std::vector<double> of_positives(positives.size());
  std::vector<double> of_negatives(negatives.size());
  auto m = static_cast<double>(positives.size());
  auto n = static_cast<double>(negatives.size());
  double sum = 0;
  for (std::size_t i = 0; i < positives.size(); ++i) {
    for (std::size_t j = 0; j < negatives.size(); ++j) {
      double kernel = Kernel(positives[i], negatives[j]);
      sum += kernel;
      of_positives[i] += kernel / n;
      of_negatives[j] += kernel / m;
    }
  }
  Auc auc;
  auc.value = sum / m / n;
  double variance =
      SampleVariance(of_positives, *auc.value) / m + SampleVariance(of_negatives, *auc.value) / n;
  auc.low = std::max(0.0, *auc.value - 1.959963984540054 * std::sqrt(variance));
  auc.high = std::min(1.0, *auc.value + 1.959963984540054 * std::sqrt(variance));
  return auc;
}

class AucTest : public testing::TestWithParam<int> {};  // how many different scores there are

TEST_P(AucTest, AgreesWithEveryPairLookedAt) {
  std::mt19937 random(static_cast<std::uint32_t>(GetParam()));
  for (int round = 0; round < 20; ++round) {
    std::vector<Scored> all;
    ScoreAuc scores;
    CountAuc counts;
    int size = 5 + static_cast<int>(random() % 200);
    for (int i = 0; i < size; ++i) {
      int score = static_cast<int>(random() % static_cast<unsigned>(GetParam())) - 3;
      bool positive = i < 2 || (i > 3 && random() % 3 == 0);
      all.push_back({static_cast<float>(score), positive});
      scores.Add(static_cast<float>(score), positive);
      counts.Add(score, positive);
    }
    Auc expected = BruteForce(all);
    for (const Auc& auc : {scores.Compute(), counts.Compute()}) {
      EXPECT_EQ(auc.positives + auc.negatives, size);
      ASSERT_TRUE(auc.value && auc.low && auc.high);
      EXPECT_NEAR(*auc.value, *expected.value, 1e-12);
      EXPECT_NEAR(*auc.low, *expected.low, 1e-9);
      EXPECT_NEAR(*auc.high, *expected.high, 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DifferentScores, AucTest, testing::Values(1, 2, 5, 1000));

TEST(Auc, IsNothingWhereAClassIsMissing) {
  ScoreAuc only_positives;
  only_positives.Add(1, true);
  EXPECT_EQ(only_positives.Compute().value, std::nullopt);
  EXPECT_EQ(CountAuc().Compute().value, std::nullopt);
}

TEST(Auc, HasNoIntervalWhereAClassHasOneMember) {
  ScoreAuc scores;
  scores.Add(1, true);
  scores.Add(0, false);
  scores.Add(0, false);
  Auc auc = scores.Compute();
  EXPECT_EQ(auc.value, 1.0);
  EXPECT_EQ(auc.low, std::nullopt);
}

TEST(Auc, OrdersInfinitiesAndSignedZeros) {
  ScoreAuc scores;
  scores.Add(INFINITY, true);
  scores.Add(-0.0f, true);
  scores.Add(0.0f, false);
  scores.Add(-INFINITY, false);
  EXPECT_EQ(scores.Compute().value, 0.875);
}

}  // namespace
}  // namespace hstu
