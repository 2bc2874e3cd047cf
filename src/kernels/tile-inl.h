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

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/panel.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));

// Rows and panels of the tile that fills the target's registers.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 12;
constexpr int kTilePanels = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
constexpr int kTilePanels = 1;
#else
constexpr int kTileRows = 2;
constexpr int kTilePanels = 1;
#endif

constexpr int kVectorsPerPanel = kPanelWidth / kLanes;

template <int kPanels>
struct Tile {
  static constexpr int kVectors = kPanels * kVectorsPerPanel;
  Floats sum[kTileRows][kVectors];

  HWY_INLINE void SetZero() {
    HWY_UNROLL(12)
    for (int r = 0; r < kTileRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(FloatTag());
    }
  }

  // sum[r][:] += sum over k of a[k * kStepK + r * kStepRow] * b[panel][k * 16 + :], k ascending.
  template <int kStepK, int kStepRow>
  HWY_INLINE void MultiplyAdd(const float* HWY_RESTRICT a, const float* const (&b)[kPanels],
                              int64_t k) {
    const FloatTag d;
    HWY_UNROLL(1)
    for (int64_t step = 0; step < k; ++step) {
      Floats row[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        row[v] = hn::LoadU(
            d, b[v / kVectorsPerPanel] + step * kPanelWidth + (v % kVectorsPerPanel) * kLanes);
      }
      HWY_UNROLL(12)
      for (int r = 0; r < kTileRows; ++r) {
        const Floats factor = hn::Set(d, a[step * kStepK + r * kStepRow]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) {
          sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
        }
      }
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_TILE_INL_H_
