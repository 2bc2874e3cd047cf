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

// Panels that a tile of any target spans at most.
inline constexpr int64_t kMostTilePanels = 4;

// Floats of scratch that one thread needs for a multiplication of depth k: a block of rows, and
// panels of bf16 weights made f32.
constexpr int64_t GemmScratch(int64_t k) {
  return GemmBlockRows(k) * k + kMostTilePanels * k * kPanelWidth;
}

}  // namespace hstu

#endif  // HSTU_KERNELS_GEMM_H_
