// Times steps in every bucket, compiled and built in in turns, and steps after a switch of buckets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accept/checks.h"
#include "base/error.h"
#include "base/timing.h"
#include "engine/warm_up.h"

namespace hstu {
namespace {

// Short steps are measured often: a median of a few would be noise.
constexpr int kRounds = 201;
constexpr int kFewestRounds = 3;
constexpr double kSecondsABucket = 2.0;
constexpr int kSwitches = 51;
constexpr int kFewestSwitches = 5;
constexpr double kSecondsOfSwitches = 4.0;
constexpr int kStepsInABucket = 3;  // one after a switch, and two more

double StepSeconds(Engine* engine, const std::vector<Request>& requests) {
  return SecondsOf([&] { engine->Rank(requests); });
}

struct BucketTimes {
  const BucketRecord* bucket;
  std::vector<Request> requests;
  double compiled = 0.0;  // medians, seconds
  double builtin = 0.0;
};

void Compare(Engine* compiled, Engine* builtin, BucketTimes* times) {
  std::vector<double> of_compiled;
  std::vector<double> of_builtin;
  double total = StepSeconds(compiled, times->requests) + StepSeconds(builtin, times->requests);
  for (int i = 0; i < kRounds && (i < kFewestRounds || total < kSecondsABucket); ++i) {
    of_compiled.push_back(StepSeconds(compiled, times->requests));
    of_builtin.push_back(StepSeconds(builtin, times->requests));
    total += of_compiled.back() + of_builtin.back();
  }
  times->compiled = Median(of_compiled);
  times->builtin = Median(of_builtin);
}

// The first step after a switch over the other steps of the bucket, the worst bucket's.
Metric MeasureSwitches(Engine* engine, const std::vector<BucketTimes>& buckets) {
  Metric metric{
      "bucket_switch",      "First step after a switch of buckets", "x", LimitSide::kAtMost, {}, {},
      "there is one bucket"};
  if (buckets.size() < 2) return metric;
  std::vector<std::vector<double>> first(buckets.size());
  std::vector<std::vector<double>> others(buckets.size());
  double total = 0.0;
  for (int round = 0; round < kSwitches; ++round) {
    if (round >= kFewestSwitches && total > kSecondsOfSwitches) break;
    for (size_t i = 0; i < buckets.size(); ++i) {
      for (int step = 0; step < kStepsInABucket; ++step) {
        const double seconds = StepSeconds(engine, buckets[i].requests);
        (step == 0 ? first : others)[i].push_back(seconds);
        total += seconds;
      }
    }
  }
  metric.value = 0.0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const double ratio = Median(first[i]) / Median(others[i]);
    if (ratio <= *metric.value) continue;
    metric.value = ratio;
    metric.detail =
        fmt::format("of the other steps' median; the worst of {} buckets is {} x {}",
                    buckets.size(), buckets[i].bucket->batch, buckets[i].bucket->seq_len);
  }
  return metric;
}

Plot PlotOf(const std::vector<BucketTimes>& buckets) {
  Curve compiled{"compiled", {}};
  Curve builtin{"built in", {}};
  for (const BucketTimes& times : buckets) {
    const auto rows = static_cast<double>(times.bucket->rows);
    compiled.points.emplace_back(rows, times.compiled * 1e3);
    builtin.points.emplace_back(rows, times.builtin * 1e3);
  }
  for (Curve* curve : {&compiled, &builtin}) std::sort(curve->points.begin(), curve->points.end());
  return {"Steps that fill their bucket", "tokens", "ms", {compiled, builtin}};
}

}  // namespace

Result<StepTimes> MeasureSteps(const Subject& subject, double baseline_ratio, Plot* plot) {
  HSTU_ASSIGN_OR_RETURN(Engine compiled, subject.Load(true, false));
  HSTU_ASSIGN_OR_RETURN(Engine builtin, subject.Load(false, false));
  std::vector<BucketTimes> buckets;
  double logs = 0.0;
  std::string detail;
  for (const BucketRecord& bucket : subject.metadata.buckets) {
    BucketTimes times{&bucket, WarmUpRequests(subject.config, subject.requests,
                                              {bucket.seq_len, bucket.batch, bucket.rows}, false)};
    Compare(&compiled, &builtin, &times);
    logs += std::log(times.compiled / times.builtin);
    detail += fmt::format("; {} x {}: {:.2f} of {:.2f} ms", bucket.batch, bucket.seq_len,
                          times.compiled * 1e3, times.builtin * 1e3);
    buckets.push_back(std::move(times));
  }
  StepTimes result;
  result.ratio = std::exp(logs / static_cast<double>(buckets.size()));
  result.steady_step = {"steady_step",
                        "Compiled step, of the built-in one, of the baseline's ratio",
                        "x",
                        LimitSide::kAtMost,
                        result.ratio / baseline_ratio,
                        {},
                        fmt::format("{:.3f} of the built-in time, {:.3f} in the baseline{}",
                                    result.ratio, baseline_ratio, detail)};
  result.bucket_switch = MeasureSwitches(&compiled, buckets);
  *plot = PlotOf(buckets);
  return result;
}

}  // namespace hstu
