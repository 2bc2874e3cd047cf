#include "base/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace hstu {
namespace {

constexpr double kFirst = 1e-7;  // seconds
constexpr double kGrowth = 1.01;
constexpr std::size_t kBuckets = 2600;  // up to some hours

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(kBuckets) {}

void LatencyHistogram::Add(double seconds) {
  double place = std::log(std::max(seconds, kFirst) / kFirst) / std::log(kGrowth);
  ++buckets_[std::min(static_cast<std::size_t>(place), kBuckets - 1)];
  smallest_ = count_ == 0 ? seconds : std::min(smallest_, seconds);
  largest_ = std::max(largest_, seconds);
  ++count_;
}

double LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  auto rank = static_cast<std::int64_t>(std::ceil(quantile * static_cast<double>(count_)));
  rank = std::clamp<std::int64_t>(rank, 1, count_);
  std::int64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += buckets_[bucket]) < rank) ++bucket;
  double middle = kFirst * std::pow(kGrowth, static_cast<double>(bucket) + 0.5);
  return std::clamp(middle, smallest_, largest_);
}

}  // namespace hstu
