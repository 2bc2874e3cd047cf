#include "data/auc.h"

#include <algorithm>
#include <cmath>

namespace hstu {
namespace {

// Takes groups of equal scores, in ascending order.
class AucSums {
 public:
  AucSums(std::int64_t positives, std::int64_t negatives)
      : all_positives_(positives), all_negatives_(negatives) {}

  void AddGroup(std::int64_t positives, std::int64_t negatives) {
    // Doubled, so that halves stay integers: a sum of pairs is exact.
    doubled_pairs_ += static_cast<std::uint64_t>(positives) *
                      static_cast<std::uint64_t>(2 * negatives_below_ + negatives);
    // A placement is the part of the other class that a member stands on the right side of.
    double of_positive =
        (static_cast<double>(negatives_below_) + 0.5 * static_cast<double>(negatives)) /
        static_cast<double>(all_negatives_);
    double of_negative = (static_cast<double>(all_positives_ - positives_below_) -
                          0.5 * static_cast<double>(positives)) /
                         static_cast<double>(all_positives_);
    positive_squares_ += static_cast<double>(positives) * of_positive * of_positive;
    negative_squares_ += static_cast<double>(negatives) * of_negative * of_negative;
    positives_below_ += positives;
    negatives_below_ += negatives;
  }

  Auc Finish() const {
    Auc auc;
    auc.positives = all_positives_;
    auc.negatives = all_negatives_;
    if (all_positives_ == 0 || all_negatives_ == 0) return auc;
    double value = static_cast<double>(doubled_pairs_) / 2 / static_cast<double>(all_positives_) /
                   static_cast<double>(all_negatives_);
    auc.value = value;
    if (all_positives_ < 2 || all_negatives_ < 2) return auc;
    double variance = VarianceOfMean(positive_squares_, value, all_positives_) +
                      VarianceOfMean(negative_squares_, value, all_negatives_);
    constexpr double kNormal95 = 1.959963984540054;
    double margin = kNormal95 * std::sqrt(variance);
    auc.low = std::max(0.0, value - margin);
    auc.high = std::min(1.0, value + margin);
    return auc;
  }

 private:
  static double VarianceOfMean(double squares, double mean, std::int64_t count) {
    auto n = static_cast<double>(count);
    return std::max(0.0, squares - n * mean * mean) / (n - 1) / n;
  }

  std::int64_t all_positives_;
  std::int64_t all_negatives_;
  std::int64_t positives_below_ = 0;
  std::int64_t negatives_below_ = 0;
  std::uint64_t doubled_pairs_ = 0;  // fits for 3e9 candidates of either class
  double positive_squares_ = 0;
  double negative_squares_ = 0;
};

}  // namespace

Auc ScoreAuc::Compute() {
  std::sort(positives_.begin(), positives_.end());
  std::sort(negatives_.begin(), negatives_.end());
  AucSums sums(static_cast<std::int64_t>(positives_.size()),
               static_cast<std::int64_t>(negatives_.size()));
  auto positive = positives_.begin();
  auto negative = negatives_.begin();
  auto take = [](auto* at, const auto& end, float score) {
    std::int64_t count = 0;
    for (; *at != end && **at == score; ++*at) ++count;
    return count;
  };
  while (positive != positives_.end() || negative != negatives_.end()) {
    bool positive_first =
        negative == negatives_.end() || (positive != positives_.end() && *positive < *negative);
    float score = positive_first ? *positive : *negative;
    std::int64_t equal_positives = take(&positive, positives_.end(), score);
    sums.AddGroup(equal_positives, take(&negative, negatives_.end(), score));
  }
  return sums.Finish();
}

void CountAuc::Add(std::int64_t score, bool positive) {
  Group& group = groups_[score];
  ++(positive ? group.positives : group.negatives);
}

Auc CountAuc::Compute() const {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  for (const auto& [score, group] : groups_) {
    positives += group.positives;
    negatives += group.negatives;
  }
  AucSums sums(positives, negatives);
  for (const auto& [score, group] : groups_) sums.AddGroup(group.positives, group.negatives);
  return sums.Finish();
}

}  // namespace hstu
