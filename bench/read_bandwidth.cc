#include "bench/read_bandwidth.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/read_bandwidth.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `count` is a multiple of eight vectors. The sum keeps the reads from being optimised away.
float SumAll(const float* HWY_RESTRICT data, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[8];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += 8 * lanes) {
    HWY_UNROLL(8)
    for (int v = 0; v < 8; ++v) sums[v] = hn::Add(sums[v], hn::Load(d, data + i + v * lanes));
  }
  float total = 0.0f;
  for (const auto& sum : sums) total += hn::GetLane(hn::SumOfLanes(d, sum));
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(SumAll);

namespace {

constexpr int64_t kTaskFloats = 16384;  // a task of a burst

}  // namespace

int64_t LastCacheBytes() {
  const int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t{32} << 20;
}

ReadBuffer::ReadBuffer(int64_t bytes, int64_t piece_bytes)
    : bytes_(RoundUp(bytes, piece_bytes)),
      piece_bytes_(piece_bytes),
      data_(AllocateAligned<float>(bytes_ / 4)) {
  std::fill_n(data_.get(), bytes_ / 4, 0.5f);
}

Rate ReadBuffer::Burst(ThreadPool* pool, Isa isa) {
  auto* sum_all = HSTU_DISPATCH(SumAll, isa);
  const float* piece = data_.get() + next_ / 4;
  next_ = (next_ + piece_bytes_) % bytes_;
  std::atomic<float> sink = 0.0f;
  const int64_t tasks = piece_bytes_ / 4 / kTaskFloats;
  const Stopwatch stopwatch(pool->threads());
  pool->Run(tasks, [&](int64_t task, int) {
    sink.fetch_add(sum_all(piece + task * kTaskFloats, kTaskFloats));
  });
  return stopwatch.RateOf(static_cast<double>(tasks * kTaskFloats * 4));
}

}  // namespace hstu
#endif  // HWY_ONCE
