// attention_update in its two forms, at decode shapes: rows are heads times candidates. One thread.
//
//   stacked      one tensor for all ranks' parts
//   views        the list form, of views into that tensor
//   copies       the list form, of slices that are made tensors of their own first
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "base/timing.h"
#include "bench/read_bandwidth.h"
#include "bench/stopwatch.h"
#include "kernels/attention_update.h"

namespace hstu {
namespace {

constexpr int64_t kHeads = 4;
constexpr int64_t kDim = 128;
constexpr int kSamples = 50;
// Twice a last cache of 32 MiB: virtual machines often tell the size of their host's.
constexpr double kBeyondCaches = 2.0 * (32 << 20);

struct Case {
  Case(int64_t sp, int64_t rows)
      : sp(sp),
        rows(rows),
        lse(AllocateAligned<float>(sp * rows)),
        parts(AllocateAligned<float>(sp * rows * kDim)),
        lse_copies(AllocateAligned<float>(sp * rows)),
        part_copies(AllocateAligned<float>(sp * rows * kDim)),
        out(AllocateAligned<float>(rows * kDim)),
        lse_out(AllocateAligned<float>(rows)),
        scratch(AllocateAligned<float>(AttentionUpdateScratch(sp, kDim))) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (int64_t i = 0; i < sp * rows; ++i) lse[i] = uniform(random);
    for (int64_t i = 0; i < sp * rows * kDim; ++i) parts[i] = uniform(random);
  }

  double bytes() const { return static_cast<double>((sp + 1) * rows * (kDim + 1)) * sizeof(float); }

  void Stacked(AttentionUpdateFn* op) const {
    op({sp, rows, kDim, DType::kF32, Bytes(lse.get()), Bytes(parts.get()), Bytes(out.get()),
        Bytes(lse_out.get()), 0, rows, scratch.get()});
  }

  void List(AttentionUpdateListFn* op, const float* lses, const float* outs) const {
    std::vector<const std::byte*> lse_list;
    std::vector<const std::byte*> part_list;
    for (int64_t i = 0; i < sp; ++i) {
      lse_list.push_back(Bytes(lses + i * rows));
      part_list.push_back(Bytes(outs + i * rows * kDim));
    }
    op({sp, rows, kDim, DType::kF32, lse_list.data(), part_list.data(), Bytes(out.get()),
        Bytes(lse_out.get()), 0, rows, scratch.get()});
  }

  void Copies(AttentionUpdateListFn* op) const {
    for (int64_t i = 0; i < sp; ++i) {
      std::copy_n(lse.get() + i * rows, rows, lse_copies.get() + i * rows);
      std::copy_n(parts.get() + i * rows * kDim, rows * kDim, part_copies.get() + i * rows * kDim);
    }
    List(op, lse_copies.get(), part_copies.get());
  }

  static std::byte* Bytes(float* data) { return reinterpret_cast<std::byte*>(data); }
  static const std::byte* Bytes(const float* data) {
    return reinterpret_cast<const std::byte*>(data);
  }

  int64_t sp, rows;
  AlignedArray<float> lse, parts, lse_copies, part_copies, out, lse_out, scratch;
};

// Processor seconds of one call, after one that brings what fits into caches.
double Time(const std::function<void()>& body, int calls) {
  body();
  const Stopwatch watch(1);
  for (int i = 0; i < calls; ++i) body();
  return watch.Read().processor / calls;
}

void Measure(int64_t sp, int64_t candidates, ReadBuffer* memory, ThreadPool* pool, Isa isa) {
  const Case c(sp, kHeads * candidates);
  const int calls = static_cast<int>(std::clamp(5e6 / c.bytes(), 1.0, 2000.0));
  std::vector<double> stacked;
  std::vector<double> views;
  std::vector<double> copies;
  std::vector<double> read;
  const auto time_stacked = [&] {
    stacked.push_back(Time([&] { c.Stacked(AttentionUpdateFor(isa)); }, calls));
  };
  const auto time_views = [&] {
    views.push_back(
        Time([&] { c.List(AttentionUpdateListFor(isa), c.lse.get(), c.parts.get()); }, calls));
  };
  // Side by side, so that what disturbs one disturbs all, and each as often right after the others'
  // memory was read.
  for (int i = 0; i < kSamples; ++i) {
    read.push_back(memory->Burst(pool, isa).processor);
    c.Stacked(AttentionUpdateFor(isa));
    if (i % 2 == 0) time_stacked();
    time_views();
    if (i % 2 != 0) time_stacked();
    copies.push_back(Time([&] { c.Copies(AttentionUpdateListFor(isa)); }, calls));
  }
  const double seconds = Median(stacked);
  const bool from_memory = c.bytes() > kBeyondCaches;
  fmt::print("| {} | {} | {:.1f} | {:.2f} | {:.2f} | {:.1f} | {} |\n", sp, c.rows, seconds * 1e6,
             Median(views) / seconds, Median(copies) / seconds, c.bytes() / seconds * 1e-9,
             from_memory ? fmt::format("{:.2f}", c.bytes() / seconds / Median(read)) : "-");
  std::fflush(stdout);
}

int Main() {
  const Isa isa = SupportedIsas().back();
  ThreadPool pool(1);
  ReadBuffer memory(4 * LastCacheBytes(), 8 << 20);
  fmt::print("{} heads of {}, f32, {}; memory is read at what the same run measures\n\n", kHeads,
             kDim, IsaName(isa));
  fmt::print("| sp | rows | stacked us | views | copies | GB/s | of memory's |\n");
  fmt::print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const int64_t sp : {2, 4, 8, 16, 32, 64}) {
    for (const int64_t candidates : {1, 16, 128, 512}) Measure(sp, candidates, &memory, &pool, isa);
  }
  Measure(64, 1024, &memory, &pool, isa);
  return 0;
}

}  // namespace
}  // namespace hstu

int main() { return hstu::Main(); }
