// How far logits are from those that they should be.
#ifndef HSTU_ACCEPT_DIFFERENCE_H_
#define HSTU_ACCEPT_DIFFERENCE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace hstu {

// The largest difference; over the largest of `expected` where `relative`. NaN where one of the
// logits is, or where the sizes differ.
template <typename T>
double LargestDifference(std::span<const float> logits, std::span<const T> expected,
                         bool relative) {
  if (logits.size() != expected.size()) return std::numeric_limits<double>::quiet_NaN();
  double difference = 0.0;
  double largest = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double apart =
        std::abs(static_cast<double>(logits[i]) - static_cast<double>(expected[i]));
    if (std::isnan(apart)) return apart;
    difference = std::max(difference, apart);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return relative && largest > 0.0 ? difference / largest : difference;
}

}  // namespace hstu

#endif  // HSTU_ACCEPT_DIFFERENCE_H_
