// Percentiles of durations in constant memory, within half a percent.
#ifndef HSTU_BASE_LATENCY_HISTOGRAM_H_
#define HSTU_BASE_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace hstu {

class LatencyHistogram {
 public:
  LatencyHistogram();

  void Add(double seconds);

  // The duration that a share of `quantile` (0 to 1) of all does not exceed; 0 if there are none.
  double Quantile(double quantile) const;

  std::int64_t count() const { return count_; }

 private:
  std::vector<std::int64_t> buckets_;  // of durations that grow by a constant factor
  std::int64_t count_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
};

}  // namespace hstu

#endif  // HSTU_BASE_LATENCY_HISTOGRAM_H_
