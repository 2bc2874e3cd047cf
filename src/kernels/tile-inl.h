// The register tile that GEMM and attention share: kRows x (kPanels * 16) sums in registers, each a
// chain of fused multiply-adds in ascending k. The order of an element's sum depends on nothing
// else, so a row's bits are the same in whatever tile it stands.
//
// Compiled once per target.
#if defined(HSTU_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_TILE_INL_H_
#undef HSTU_KERNELS_TILE_INL_H_
#else
#define HSTU_KERNELS_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/panel.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// Rows and panels of the tile that fills the target's registers, and of the one for few rows. Sums
// of one row are as many chains as hide the latency of a multiply-add.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 12;
constexpr int kTilePanels = 2;
constexpr int kFewTileRows = 3;
constexpr int kFewTilePanels = 4;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
constexpr int kTilePanels = 1;
constexpr int kFewTileRows = 3;
constexpr int kFewTilePanels = 2;
#else
constexpr int kTileRows = 2;
constexpr int kTilePanels = 1;
constexpr int kFewTileRows = 1;
constexpr int kFewTilePanels = 1;
#endif

constexpr int kVectorsPerPanel = kPanelWidth / kLanes;

// Calls body with the kind of products as a constant, which is kF32 unless kMayBeBF16.
template <bool kMayBeBF16 = true, class Body>
HWY_INLINE void WithProducts(Products products, const Body& body) {
  if constexpr (kMayBeBF16) {
    switch (products) {
      case Products::kF32:
        break;
      case Products::kBF16Pairs:
        return body(std::integral_constant<Products, Products::kBF16Pairs>());
      case Products::kBF16Tiles:
        return body(std::integral_constant<Products, Products::kBF16Tiles>());
    }
  }
  body(std::integral_constant<Products, Products::kF32>());
}

// The right side of a tile: panels of f32, as vectors.
template <int kPanels>
struct FloatPanels {
  const float* data[kPanels];

  HWY_INLINE Floats Load(int panel, int64_t element) const {
    return hn::LoadU(FloatTag(), data[panel] + element);
  }
};

// The same of pairs of bf16, where each step of a tile is two of k.
template <int kPanels>
struct PairPanels {
  const uint32_t* data[kPanels];

  HWY_INLINE Pairs Load(int panel, int64_t element) const {
    return hn::LoadU(PairTag(), data[panel] + element);
  }
};

// One element of the left side in all lanes.
HWY_INLINE Floats Spread(float factor) { return hn::Set(FloatTag(), factor); }
HWY_INLINE Pairs Spread(uint32_t factors) { return hn::Set(PairTag(), factors); }

// The elements of pairs, as f32.
HWY_INLINE Floats FirstOf(Pairs pairs) { return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE Floats SecondOf(Pairs pairs) {
  return hn::BitCast(FloatTag(), hn::And(pairs, hn::Set(PairTag(), 0xffff0000u)));
}

// sum + a * b
HWY_INLINE Floats AddProduct(Floats sum, Floats a, Floats b) { return hn::MulAdd(a, b, sum); }

// (sum + second a * second b) + first a * first b: what AVX-512-BF16 does in one instruction, which
// takes subnormals as 0. It is written out, as Highway 1.0 has no target with it; engines ask for
// pairs, and for tiles, on such a processor alone (base/cpu.h).
HWY_INLINE Floats AddProduct(Floats sum, Pairs a, Pairs b) {
#if HWY_TARGET == HWY_AVX3
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
#else
  return hn::MulAdd(FirstOf(a), FirstOf(b), hn::MulAdd(SecondOf(a), SecondOf(b), sum));
#endif
}

HWY_INLINE uint32_t BF16Bits(BF16 value) { return value.bits; }
HWY_INLINE uint32_t BF16Bits(float value) { return BF16FromFloat(value); }

// A row of bf16, or of floats that are rounded to it, as pairs, kStep apart; past an odd end 0.
template <int kStep, class T>
HWY_INLINE void CopyPairs(const T* HWY_RESTRICT from, int64_t count, uint32_t* HWY_RESTRICT to) {
  for (int64_t i = 0; i + 2 <= count; i += 2) {
    to[i / 2 * kStep] = BF16Bits(from[i]) | BF16Bits(from[i + 1]) << 16;
  }
  if (count % 2 != 0) to[count / 2 * kStep] = BF16Bits(from[count - 1]);
}

// Asks for no memory ahead of time: the processor's own guesses do.
struct NotAhead {
  HWY_INLINE void operator()(int64_t) const {}
};

// Asks for the same steps of the panels that come next.
template <int kPanels>
struct StepsAhead {
  const std::byte* data[kPanels];
  int64_t step_bytes;

  HWY_INLINE void operator()(int64_t step) const {
    HWY_UNROLL(4)
    for (int p = 0; p < kPanels; ++p) hwy::Prefetch(data[p] + step * step_bytes);
  }
};

template <int kRows, int kPanels>
struct Tile {
  static constexpr int kVectors = kPanels * kVectorsPerPanel;
  Floats sum[kRows][kVectors];

  HWY_INLINE void SetZero() {
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(FloatTag());
    }
  }

  // From and to memory, `stride` floats from one row to the next.
  HWY_INLINE void Load(const float* from, int64_t stride) {
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::LoadU(FloatTag(), from + r * stride + v * kLanes);
      }
    }
  }
  HWY_INLINE void Store(float* to, int64_t stride) const {
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sum[r][v], FloatTag(), to + r * stride + v * kLanes);
      }
    }
  }

  // sum[r][:] += sum over k of a[k * kStepK + r * kStepRow] * b[panel][k * 16 + :], k ascending;
  // of floats, or of pairs. ahead(step) may ask for memory that a later tile needs.
  template <int kStepK, int kStepRow, class Factor, class Panels, class Ahead = NotAhead>
  HWY_INLINE void MultiplyAdd(const Factor* HWY_RESTRICT a, const Panels& b, int64_t k,
                              const Ahead& ahead = Ahead()) {
    HWY_UNROLL(1)
    for (int64_t step = 0; step < k; ++step) {
      ahead(step);
      decltype(Spread(*a)) row[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        row[v] = b.Load(v / kVectorsPerPanel, step * kPanelWidth + (v % kVectorsPerPanel) * kLanes);
      }
      HWY_UNROLL(12)
      for (int r = 0; r < kRows; ++r) {
        const auto factor = Spread(a[step * kStepK + r * kStepRow]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) {
          sum[r][v] = AddProduct(sum[r][v], factor, row[v]);
        }
      }
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_TILE_INL_H_
