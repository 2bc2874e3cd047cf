// What the operators that multiply by a packed weight have in common.
#ifndef HSTU_KERNELS_GEMM_H_
#define HSTU_KERNELS_GEMM_H_

#include <algorithm>
#include <cstdint>

#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// Half of a small L2, and whole tiles of every target.
inline constexpr int64_t kGemmBlockFloats = 49152;
inline constexpr int64_t kFewestGemmRows = 12;
inline constexpr int64_t kMostGemmRows = 96;

// Rows that are packed together. Has no influence on the result.
constexpr int64_t GemmBlockRows(int64_t k) {
  const int64_t fit = kGemmBlockFloats / std::max<int64_t>(1, k);
  return std::clamp(fit / kFewestGemmRows * kFewestGemmRows, kFewestGemmRows, kMostGemmRows);
}

// The same of products of tiles: whole tiles.
constexpr int64_t TileGemmBlockRows(int64_t k) {
  const int64_t fit = 2 * kGemmBlockFloats / RoundUp(std::max<int64_t>(1, k), kTileDepth);
  return std::clamp<int64_t>(fit / kPanelWidth * kPanelWidth, kPanelWidth, 2 * kMostGemmRows);
}
// Floats of the sums of two panels.
constexpr int64_t TileGemmSums(int64_t rows) { return rows * 2 * kPanelWidth; }

// Rows of a tile for few rows, at most, on any target.
inline constexpr int64_t kMostFewTileRows = 3;
// Panels that a tile for many rows spans at most, on any target.
inline constexpr int64_t kMostTilePanels = 2;

// Floats of scratch that one thread needs for multiplications of depth up to k: a block of rows,
// and panels of bf16 weights made f32, or sums of tiles.
constexpr int64_t GemmScratch(int64_t k) {
  const int64_t depth = RoundUp(k, kTileDepth);
  const int64_t block =
      std::max(std::min(kMostGemmRows * depth, kGemmBlockFloats), kFewestGemmRows * depth);
  return block + std::max(kMostTilePanels * depth * kPanelWidth, TileGemmSums(2 * kMostGemmRows));
}

}  // namespace hstu

#endif  // HSTU_KERNELS_GEMM_H_
