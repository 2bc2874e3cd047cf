#include "bench/ratio.h"

#include <algorithm>
#include <vector>

#include "bench/fma_peak.h"

namespace hstu {
namespace {

constexpr double kSteady = 0.88;  // of the largest burst
// A machine that is seldom quiet gets more rounds, until this many samples count.
constexpr int64_t kEnoughSamples = 9;
constexpr int kMostRounds = 6;  // times the repeats asked for

struct Sample {
  Elapsed elapsed;
  double slower_burst;  // in wall time
  double faster_burst;
  double processor_burst;
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

int64_t Steady(const std::vector<Sample>& samples, double peak) {
  return std::count_if(samples.begin(), samples.end(), [peak](const Sample& sample) {
    return sample.slower_burst >= kSteady * peak;
  });
}

}  // namespace

RatioResult MeasureRatio(ThreadPool* pool, const std::function<Rate()>& burst, double amount,
                         int repeats, const std::function<void()>& body) {
  body();
  for (int i = 0; i < 3; ++i) burst();
  std::vector<Sample> samples;
  RatioResult result;
  const auto goes_on = [&](int i) {
    if (i < repeats) return true;
    return i < kMostRounds * repeats &&
           Steady(samples, result.peak) < std::min<int64_t>(kEnoughSamples, repeats);
  };
  for (int i = 0; goes_on(i); ++i) {
    const Rate before = burst();
    const Stopwatch stopwatch(pool->threads());
    body();
    const Elapsed elapsed = stopwatch.Read();
    const Rate after = burst();
    samples.push_back({elapsed, std::min(before.wall, after.wall),
                       std::max(before.wall, after.wall),
                       std::max(before.processor, after.processor)});
    result.peak = std::max(result.peak, samples.back().faster_burst);
  }
  std::vector<double> ratios;
  std::vector<double> seconds;
  std::vector<double> all_seconds;
  std::vector<double> processor_ratios;
  for (const Sample& sample : samples) {
    processor_ratios.push_back(amount / sample.elapsed.processor / sample.processor_burst);
    all_seconds.push_back(sample.elapsed.wall);
    if (sample.slower_burst < kSteady * result.peak) continue;
    ratios.push_back(amount / sample.elapsed.wall / sample.faster_burst);
    seconds.push_back(sample.elapsed.wall);
  }
  result.samples = static_cast<int>(ratios.size());
  result.processor_of_peak = Quantile(processor_ratios, 0.5);
  if (ratios.empty()) {  // never quiet: what is found is too small, if anything
    result.median_seconds = Quantile(all_seconds, 0.5);
    result.median_of_peak = result.p90_of_peak = amount / result.median_seconds / result.peak;
    return result;
  }
  result.median_of_peak = Quantile(ratios, 0.5);
  result.p90_of_peak = Quantile(ratios, 0.9);
  result.median_seconds = Quantile(seconds, 0.5);
  return result;
}

RatioResult MeasureFlops(ThreadPool* pool, Isa isa, double flops, int repeats,
                         const std::function<void()>& body) {
  return MeasureRatio(
      pool, [&] { return FmaBurst(pool, isa); }, flops, repeats, body);
}

}  // namespace hstu
