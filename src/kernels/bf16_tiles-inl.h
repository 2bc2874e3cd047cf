// Products of tiles of bf16: what AMX-BF16 multiplies at once, 16 rows of 32 by 32 of 16 columns.
//
// Sums of a tile go on in steps of 32 of k: sum = sum + (first + second), where `first` is the
// chain of fused multiply-adds of the step's even k, from zero, and `second` that of its odd k.
// Other targets compute the same in f32 registers, for tests. (AMX takes subnormals as 0.)
//
// A left tile is [16 rows][32 of k], a right tile [16 pairs of k][16 columns][2]: the layout of
// panels for pairs. Both are 1 KiB that lies together. Compiled once per target.
#if defined(HSTU_KERNELS_BF16_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_BF16_TILES_INL_H_
#undef HSTU_KERNELS_BF16_TILES_INL_H_
#else
#define HSTU_KERNELS_BF16_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

constexpr int kTileK = kTileDepth;  // of k in one step
constexpr int kTileElements = kPanelWidth * kTileK;
constexpr int kTileSums = kPanelWidth * kPanelWidth;

// The processor's tile registers belong to the thread while this lives.
class TileRegisters {
 public:
#if HWY_TARGET == HWY_AVX3
  // All eight: 16 rows of 64 bytes.
  struct alignas(64) Config {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };

  HWY_INLINE TileRegisters() {
    static constexpr Config kConfig;
    static_assert(sizeof(Config) == 64);
    asm volatile("ldtilecfg %0" : : "m"(kConfig));
  }
  HWY_INLINE ~TileRegisters() { asm volatile("tilerelease"); }
#else
  HWY_INLINE TileRegisters() {}   // NOLINT(modernize-use-equals-default)
  HWY_INLINE ~TileRegisters() {}  // NOLINT(modernize-use-equals-default)
#endif
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

// Up to two row tiles times up to two panels, from zero. a[t]: the first of `steps` left tiles,
// a_step elements apart; b[p]: right tiles that lie side by side; sums[t][p]: [16][16].
template <int kRowTiles, int kPanels>
struct TileProduct {
  const BF16* a[kRowTiles];
  int64_t a_step;
  const uint32_t* b[kPanels];
  float* sums[kRowTiles][kPanels];

#if HWY_TARGET == HWY_AVX3
  // kGoOn: from what `sums` hold. ahead(step) may ask for memory that a later product needs.
  template <bool kGoOn = false, class Ahead = NotAhead>
  HWY_INLINE void Multiply(int64_t steps, const Ahead& ahead = Ahead()) const {
    // The registers: sums in 0 to 3, left tiles in 4 and 5, right tiles in 6 and 7.
    WithSums([&](auto index, float* tile) HWY_ATTR {
      if constexpr (kGoOn) {
        asm volatile("tileloadd (%0,%1), %%tmm%c2"
                     :
                     : "r"(tile), "r"(kStride), "i"(decltype(index)::value)
                     : "memory");
      } else {
        asm volatile("tilezero %%tmm%c0" : : "i"(decltype(index)::value));
      }
    });
    for (int64_t step = 0; step < steps; ++step) {
      ahead(step);
      const int64_t left = step * a_step;
      const int64_t right = step * kTileSums;
      asm volatile("tileloadd (%0,%1), %%tmm6" : : "r"(b[0] + right), "r"(kStride) : "memory");
      asm volatile("tileloadd (%0,%1), %%tmm4" : : "r"(a[0] + left), "r"(kStride) : "memory");
      asm volatile("tdpbf16ps %%tmm6, %%tmm4, %%tmm0" :::);
      if constexpr (kPanels > 1) {
        asm volatile("tileloadd (%0,%1), %%tmm7" : : "r"(b[1] + right), "r"(kStride) : "memory");
        asm volatile("tdpbf16ps %%tmm7, %%tmm4, %%tmm1" :::);
      }
      if constexpr (kRowTiles > 1) {
        asm volatile("tileloadd (%0,%1), %%tmm5" : : "r"(a[1] + left), "r"(kStride) : "memory");
        asm volatile("tdpbf16ps %%tmm6, %%tmm5, %%tmm2" :::);
        if constexpr (kPanels > 1) asm volatile("tdpbf16ps %%tmm7, %%tmm5, %%tmm3" :::);
      }
    }
    WithSums([&](auto index, float* tile) HWY_ATTR {
      asm volatile("tilestored %%tmm%c2, (%0,%1)"
                   :
                   : "r"(tile), "r"(kStride), "i"(decltype(index)::value)
                   : "memory");
    });
  }

 private:
  static constexpr int64_t kStride = 64;  // bytes of a row

  // Calls body with the number of each register of sums, and where they lie.
  template <class Body>
  HWY_INLINE void WithSums(const Body& body) const {
    body(std::integral_constant<int, 0>(), sums[0][0]);
    if constexpr (kPanels > 1) body(std::integral_constant<int, 1>(), sums[0][1]);
    if constexpr (kRowTiles > 1) {
      body(std::integral_constant<int, 2>(), sums[1][0]);
      if constexpr (kPanels > 1) body(std::integral_constant<int, 3>(), sums[1][1]);
    }
  }
#else
  template <bool kGoOn = false, class Ahead = NotAhead>
  HWY_INLINE void Multiply(int64_t steps, const Ahead& = Ahead()) const {
    for (int t = 0; t < kRowTiles; ++t) {
      for (int p = 0; p < kPanels; ++p) {
        if constexpr (!kGoOn) std::fill_n(sums[t][p], kTileSums, 0.0f);
        for (int64_t step = 0; step < steps; ++step) {
          AddTileProduct(a[t] + step * a_step, b[p] + step * kTileSums, sums[t][p]);
        }
      }
    }
  }

 private:
  static HWY_NOINLINE void AddTileProduct(const BF16* a, const uint32_t* b, float* sums) {
    const FloatTag d;
    for (int row = 0; row < kPanelWidth; ++row) {
      for (int i = 0; i < kPanelWidth; i += kLanes) {
        Floats first = hn::Zero(d);
        Floats second = hn::Zero(d);
        for (int pair = 0; pair < kTileK / 2; ++pair) {
          const BF16* at = a + row * kTileK + 2 * pair;
          const Pairs columns = hn::LoadU(PairTag(), b + pair * kPanelWidth + i);
          first = hn::MulAdd(hn::Set(d, ToFloat(at[0])), FirstOf(columns), first);
          second = hn::MulAdd(hn::Set(d, ToFloat(at[1])), SecondOf(columns), second);
        }
        float* to = sums + row * kPanelWidth + i;
        hn::StoreU(hn::Add(hn::LoadU(d, to), hn::Add(first, second)), d, to);
      }
    }
  }
#endif
};

// Rounded to bf16 as AVX-512-BF16 does: subnormals to 0.
HWY_INLINE void StoreRounded(Floats value, BF16* p, All) {
#if HWY_TARGET == HWY_AVX3
  __m256i bits;
  asm("vcvtneps2bf16 %1, %0" : "=v"(bits) : "v"(value.raw));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits);
#else
  Store(value, p, All());
#endif
}
HWY_INLINE void StoreRounded(Floats value, BF16* p, First lanes) {
  BF16 all[kLanes];
  StoreRounded(value, all, All());
  std::memcpy(p, all, lanes.count * sizeof(BF16));
}

// A row's elements [0, count) of k to its places in the left tiles that hold it, `to` being the
// first; past the end, to the end of the last tile, zeros.
HWY_INLINE void CopyToTiles(const BF16* HWY_RESTRICT from, int64_t count, BF16* HWY_RESTRICT to) {
  for (; count >= kTileK; count -= kTileK, from += kTileK, to += kTileElements) {
    std::memcpy(to, from, kTileK * sizeof(BF16));
  }
  if (count == 0) return;
  std::memset(to, 0, kTileK * sizeof(BF16));
  std::memcpy(to, from, count * sizeof(BF16));
}

// The same, rounded.
HWY_INLINE void CopyToTiles(const float* HWY_RESTRICT from, int64_t count, BF16* HWY_RESTRICT to) {
  for (; count > 0; count -= kTileK, from += kTileK, to += kTileElements) {
    for (int i = 0; i < kTileK; i += kLanes) {
      if (i + kLanes <= count) {
        StoreRounded(Load(from + i, All()), to + i, All());
      } else if (i < count) {
        StoreRounded(ZeroPast(Load(from + i, First{count - i}), First{count - i}), to + i, All());
      } else {
        Store(hn::Zero(FloatTag()), to + i, All());
      }
    }
  }
}

// Where row `row` begins in left tiles of `steps` a row tile.
HWY_INLINE BF16* RowOfTiles(BF16* tiles, int64_t row, int64_t steps) {
  return tiles + row / kPanelWidth * steps * kTileElements + row % kPanelWidth * kTileK;
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_BF16_TILES_INL_H_
