#include "bench/ratio.h"

#include <algorithm>
#include <chrono>

#include "bench/fma_peak.h"

namespace hstu {
namespace {

constexpr double kSteady = 0.88;  // of the largest burst

struct Sample {
  double seconds;
  double slower_burst;
  double faster_burst;
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

RatioResult MeasureRatio(ThreadPool* pool, Isa isa, double flops, int repeats,
                         const std::function<void()>& body) {
  body();
  for (int i = 0; i < 3; ++i) FmaBurst(pool, isa);
  std::vector<Sample> samples;
  RatioResult result;
  for (int i = 0; i < repeats; ++i) {
    const double before = FmaBurst(pool, isa);
    const auto begin = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const double after = FmaBurst(pool, isa);
    samples.push_back({seconds.count(), std::min(before, after), std::max(before, after)});
    result.peak_flops = std::max(result.peak_flops, samples.back().faster_burst);
  }
  std::vector<double> ratios;
  std::vector<double> seconds;
  for (const Sample& sample : samples) {
    if (sample.slower_burst < kSteady * result.peak_flops) continue;
    ratios.push_back(flops / sample.seconds / sample.faster_burst);
    seconds.push_back(sample.seconds);
  }
  result.samples = static_cast<int>(ratios.size());
  result.median_of_peak = Quantile(ratios, 0.5);
  result.p90_of_peak = Quantile(ratios, 0.9);
  result.median_seconds = Quantile(seconds, 0.5);
  return result;
}

}  // namespace hstu
