#include "bench/fma_peak.h"

#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChains = 10;  // covers the latency of two units
constexpr int64_t kRounds = 150000;

// Returns the flops done; `sink` keeps them from being optimised away.
double FmaRounds(float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f);
  const auto term = hn::Set(d, 1e-3f);
  hn::Vec<decltype(d)> sums[kChains];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (int64_t round = 0; round < kRounds; ++round) {
    HWY_UNROLL(kChains)
    for (auto& sum : sums) sum = hn::MulAdd(sum, factor, term);
  }
  for (const auto& sum : sums) *sink += hn::GetLane(hn::SumOfLanes(d, sum));
  return 2.0 * kChains * kRounds * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(FmaRounds);

Rate FmaBurst(ThreadPool* pool, Isa isa) {
  auto* rounds = HSTU_DISPATCH(FmaRounds, isa);
  std::atomic<double> flops = 0.0;
  std::atomic<float> sink = 0.0f;
  const Stopwatch stopwatch(pool->threads());
  pool->Run(pool->threads(), [&](int64_t, int) {
    float sum = 0.0f;
    flops.fetch_add(rounds(&sum));
    sink.fetch_add(sum);
  });
  return stopwatch.RateOf(flops);
}

}  // namespace hstu
#endif  // HWY_ONCE
