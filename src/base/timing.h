// Wall time of a piece of code, and the median of samples.
#ifndef HSTU_BASE_TIMING_H_
#define HSTU_BASE_TIMING_H_

#include <algorithm>
#include <chrono>
#include <vector>

namespace hstu {

// That `body` takes.
template <typename Body>
double SecondsOf(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of an even number the upper one. There must be one at least.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace hstu

#endif  // HSTU_BASE_TIMING_H_
