// What the operators that multiply by a packed weight have in common.
#ifndef HSTU_KERNELS_GEMM_H_
#define HSTU_KERNELS_GEMM_H_

#include <algorithm>
#include <cstdint>

#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// Rows that are packed together: as many as keep the block within half of a small L2, in whole
// tiles of every target. Has no influence on the result.
constexpr int64_t GemmBlockRows(int64_t k) {
  return std::clamp<int64_t>(49152 / std::max<int64_t>(1, k) / 12 * 12, 12, 96);
}

// Steps of k whose bf16 weights are made f32 at a time for few rows: they stay in a small L1.
inline constexpr int64_t kExpandSteps = 64;

// Panels that a tile of any target spans at most, with few rows and with many.
inline constexpr int64_t kMostFewTilePanels = 4;
inline constexpr int64_t kMostTilePanels = 2;

// Floats of scratch that one thread needs for a multiplication of depth k: a block of rows, and
// panels of bf16 weights made f32.
constexpr int64_t GemmScratch(int64_t k) {
  const int64_t few = kMostFewTilePanels * kExpandSteps;
  return GemmBlockRows(k) * k + std::max(kMostTilePanels * k, few) * kPanelWidth;
}

}  // namespace hstu

#endif  // HSTU_KERNELS_GEMM_H_
