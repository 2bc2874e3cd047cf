// x [m, k] * weight^T [k, n], the weight packed in panels, and an epilogue on each tile while it is
// in registers. Compiled once per target.
#if defined(HSTU_KERNELS_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_GEMM_INL_H_
#undef HSTU_KERNELS_GEMM_INL_H_
#else
#define HSTU_KERNELS_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/gemm.h"
#include "kernels/tile-inl.h"
#include "tensor/view.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// x [rows, k] -> packed [ceil(rows / kTileRows)][k][kTileRows]; rows past the end repeat the first.
HWY_INLINE void PackRows(ConstMatrix x, float* HWY_RESTRICT packed) {
  for (int64_t row = 0; row < x.rows; row += kTileRows) {
    for (int r = 0; r < kTileRows; ++r) {
      const float* HWY_RESTRICT from = x.Row(row + r < x.rows ? row + r : row);
      for (int64_t i = 0; i < x.cols; ++i) packed[i * kTileRows + r] = from[i];
    }
    packed += x.cols * kTileRows;
  }
}

// Calls epilogue(row, column, values) for the `rows` x `columns` elements that exist of one tile.
template <int kPanels, class Epilogue>
HWY_INLINE void FinishTile(const Tile<kPanels>& tile, int64_t row, int64_t rows, int64_t column,
                           int64_t columns, const Epilogue& epilogue) {
  const int64_t count = std::min<int64_t>(kTileRows, rows - row);
  HWY_UNROLL(12)
  for (int r = 0; r < kTileRows; ++r) {
    if (r >= count) break;
    HWY_UNROLL(8)
    for (int v = 0; v < Tile<kPanels>::kVectors; ++v) {
      const int64_t begin = column + v * kLanes;
      if (begin + kLanes <= columns) {
        epilogue(row + r, begin, tile.sum[r][v]);
      } else if (begin < columns) {
        epilogue.Partial(row + r, begin, columns - begin, tile.sum[r][v]);
      }
    }
  }
}

template <int kPanels, class Epilogue>
HWY_INLINE void GemmPanels(const PackedMatrix& weight, int64_t panel, const float* packed,
                           int64_t first_row, int64_t rows, const Epilogue& epilogue) {
  const float* b[kPanels];
  for (int p = 0; p < kPanels; ++p) b[p] = weight.Panel(panel + p);
  for (int64_t row = 0; row < rows; row += kTileRows) {
    Tile<kPanels> tile;
    tile.SetZero();
    tile.template MultiplyAdd<kTileRows, 1>(packed + row * weight.k(), b, weight.k());
    FinishTile<kPanels>(tile, first_row + row, first_row + rows, panel * kPanelWidth, weight.n(),
                        epilogue);
  }
}

// Columns [panel_begin, panel_end) * 16 of x * weight^T. `scratch` holds GemmScratch(k) floats.
template <class Epilogue>
HWY_INLINE void Gemm(ConstMatrix x, const PackedMatrix& weight, int64_t panel_begin,
                     int64_t panel_end, float* scratch, const Epilogue& epilogue) {
  const int64_t block = GemmBlockRows(weight.k());
  for (int64_t row = 0; row < x.rows; row += block) {
    const int64_t rows = std::min(block, x.rows - row);
    PackRows(x.Rows(row, rows), scratch);
    int64_t panel = panel_begin;
    for (; panel + kTilePanels <= panel_end; panel += kTilePanels) {
      GemmPanels<kTilePanels>(weight, panel, scratch, row, rows, epilogue);
    }
    for (; panel < panel_end; ++panel) {
      GemmPanels<1>(weight, panel, scratch, row, rows, epilogue);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_GEMM_INL_H_
