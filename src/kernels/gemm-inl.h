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

#include "kernels/bf16_tiles-inl.h"
#include "kernels/gemm.h"
#include "kernels/tile-inl.h"
#include "tensor/view.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// x [rows, k] -> packed [ceil(rows / kRows)][k][kRows]; rows past the end repeat the first.
template <int kRows, class T>
HWY_INLINE void PackRowsOf(const ConstActivations& x, float* HWY_RESTRICT packed) {
  for (int64_t row = 0; row < x.rows; row += kRows) {
    for (int r = 0; r < kRows; ++r) {
      const T* HWY_RESTRICT from = x.RowAs<T>(row + r < x.rows ? row + r : row);
      for (int64_t i = 0; i < x.cols; ++i) packed[i * kRows + r] = ToFloat(from[i]);
    }
    packed += x.cols * kRows;
  }
}

template <int kRows>
HWY_INLINE void PackRows(const ConstActivations& x, float* HWY_RESTRICT packed) {
  if (x.dtype == DType::kBF16) {
    PackRowsOf<kRows, BF16>(x, packed);
  } else {
    PackRowsOf<kRows, float>(x, packed);
  }
}

// x [rows, k] -> packed [ceil(rows / kRows)][ceil(k / 2)][kRows] pairs of bf16, zero past k.
template <int kRows>
HWY_INLINE void PackRowPairs(const ConstActivations& x, uint32_t* HWY_RESTRICT packed) {
  WithElement(x.dtype, [&](auto element) HWY_ATTR {
    uint32_t* to = packed;
    for (int64_t row = 0; row < x.rows; row += kRows) {
      for (int r = 0; r < kRows; ++r) {
        const int64_t source = row + r < x.rows ? row + r : row;
        CopyPairs<kRows>(x.RowAs<decltype(element)>(source), x.cols, to + r);
      }
      to += CeilDiv(x.cols, 2) * kRows;
    }
  });
}

// x [rows, k] -> left tiles [ceil(rows / 16)][ceil(k / 32)]. Rows past the end stay what they were:
// nothing reads their sums.
HWY_INLINE void PackRowTiles(const ConstActivations& x, BF16* HWY_RESTRICT packed) {
  WithElement(x.dtype, [&](auto element) HWY_ATTR {
    const int64_t steps = CeilDiv(x.cols, kTileK);
    for (int64_t row = 0; row < x.rows; ++row) {
      CopyToTiles(x.RowAs<decltype(element)>(row), x.cols, RowOfTiles(packed, row, steps));
    }
  });
}

// Calls epilogue(row, column, sums, lanes) for the vectors of one tile that exist.
template <int kRows, int kPanels, class Epilogue>
HWY_INLINE void FinishTile(const Tile<kRows, kPanels>& tile, int64_t row, int64_t rows,
                           int64_t column, int64_t columns, const Epilogue& epilogue) {
  const int64_t count = std::min<int64_t>(kRows, rows - row);
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    if (r >= count) break;
    HWY_UNROLL(8)
    for (int v = 0; v < Tile<kRows, kPanels>::kVectors; ++v) {
      const int64_t begin = column + v * kLanes;
      if (begin + kLanes <= columns) {
        epilogue(row + r, begin, tile.sum[r][v], All());
      } else if (begin < columns) {
        epilogue(row + r, begin, tile.sum[r][v], First{columns - begin});
      }
    }
  }
}

template <int kPanels>
struct BF16Panels {
  const BF16* data[kPanels];

  HWY_INLINE Floats Load(int panel, int64_t element) const {
    return hstu::HWY_NAMESPACE::Load(data[panel] + element, All());
  }
};

// `count` steps of a bf16 panel as f32.
HWY_INLINE void ExpandSteps(const BF16* from, int64_t count, float* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count * kPanelWidth; i += kLanes) {
    hn::StoreU(Load(from + i, All()), FloatTag(), to + i);
  }
}

// A larger weight is in no L2 when a block of rows comes to it: then the last tile on a panel asks
// for the next panel.
constexpr int64_t kFarWeightBytes = 2 << 20;

// A block of rows times some panels of weights, which are of one type.
template <int kRows, class Epilogue>
class GemmBlock {
 public:
  HWY_INLINE GemmBlock(PackedView weight, int64_t first_row, int64_t rows, const float* packed,
                       float* expanded, const Epilogue& epilogue)
      : weight_(weight),
        first_row_(first_row),
        rows_(rows),
        packed_(packed),
        expanded_(expanded),
        is_far_(weight.bytes() > kFarWeightBytes),
        epilogue_(epilogue) {}

  template <int kPanels>
  HWY_INLINE void Multiply(int64_t panel) const {
    FloatPanels<kPanels> b;
    if (weight_.dtype == DType::kF32) {
      for (int p = 0; p < kPanels; ++p) b.data[p] = weight_.Panel(panel + p);
    } else if (rows_ <= kRows) {
      MultiplyBF16<kPanels>(panel);
      return;
    } else {
      for (int p = 0; p < kPanels; ++p) {
        float* to = expanded_ + p * weight_.k * kPanelWidth;
        ExpandSteps(weight_.PanelBF16(panel + p), weight_.k, to);
        b.data[p] = to;
      }
    }
    StepsAhead<kPanels> ahead;
    ahead.step_bytes = kPanelWidth * static_cast<int64_t>(SizeOf(weight_.dtype));
    for (int p = 0; p < kPanels; ++p) ahead.data[p] = weight_.PanelData(panel + kPanels + p);
    for (int64_t row = 0; row < rows_; row += kRows) {
      Tile<kRows, kPanels> tile;
      tile.SetZero();
      const float* a = packed_ + row * weight_.k;
      if (row + kRows >= rows_ && is_far_) {
        tile.template MultiplyAdd<kRows, 1>(a, b, weight_.k, ahead);
      } else {
        tile.template MultiplyAdd<kRows, 1>(a, b, weight_.k);
      }
      Finish<kPanels>(tile, row, panel);
    }
  }

 private:
  // One tile of rows: each weight is made f32 once anyway, so where it is used.
  template <int kPanels>
  HWY_INLINE void MultiplyBF16(int64_t panel) const {
    BF16Panels<kPanels> b;
    for (int p = 0; p < kPanels; ++p) b.data[p] = weight_.PanelBF16(panel + p);
    Tile<kRows, kPanels> tile;
    tile.SetZero();
    tile.template MultiplyAdd<kRows, 1>(packed_, b, weight_.k);
    Finish<kPanels>(tile, 0, panel);
  }

  template <int kPanels>
  HWY_INLINE void Finish(const Tile<kRows, kPanels>& tile, int64_t row, int64_t panel) const {
    FinishTile<kRows, kPanels>(tile, first_row_ + row, first_row_ + rows_, panel * kPanelWidth,
                               weight_.n, epilogue_);
  }

  const PackedView weight_;
  const int64_t first_row_;
  const int64_t rows_;
  const float* const packed_;
  float* const expanded_;
  const bool is_far_;
  const Epilogue& epilogue_;
};

// A block of rows, as bf16, times weights packed for pairs.
template <int kRows, class Epilogue>
class PairGemmBlock {
 public:
  HWY_INLINE PairGemmBlock(PackedView weight, int64_t first_row, int64_t rows,
                           const uint32_t* packed, const Epilogue& epilogue)
      : weight_(weight), first_row_(first_row), rows_(rows), packed_(packed), epilogue_(epilogue) {}

  template <int kPanels>
  HWY_INLINE void Multiply(int64_t panel) const {
    PairPanels<kPanels> b;
    for (int p = 0; p < kPanels; ++p) b.data[p] = weight_.PanelPairs(panel + p);
    const int64_t steps = CeilDiv(weight_.k, 2);
    for (int64_t row = 0; row < rows_; row += kRows) {
      Tile<kRows, kPanels> tile;
      tile.SetZero();
      tile.template MultiplyAdd<kRows, 1>(packed_ + row * steps, b, steps);
      FinishTile<kRows, kPanels>(tile, first_row_ + row, first_row_ + rows_, panel * kPanelWidth,
                                 weight_.n, epilogue_);
    }
  }

 private:
  const PackedView weight_;
  const int64_t first_row_;
  const int64_t rows_;
  const uint32_t* const packed_;
  const Epilogue& epilogue_;
};

// Steps of k that two row tiles and two panels stay in the first level of the cache for.
constexpr int64_t kTileStepsTogether = 8;

// A block of rows times weights, both as tiles of bf16. `sums` has room for two panels of all rows.
template <class Epilogue>
class TileGemmBlock {
 public:
  HWY_INLINE TileGemmBlock(PackedView weight, int64_t first_row, int64_t rows, const BF16* packed,
                           float* sums, const Epilogue& epilogue)
      : weight_(weight),
        first_row_(first_row),
        rows_(rows),
        steps_(CeilDiv(weight.k, kTileK)),
        packed_(packed),
        sums_(sums),
        epilogue_(epilogue) {}

  template <int kPanels>
  HWY_INLINE void Multiply(int64_t panel) const {
    const int64_t groups = CeilDiv(rows_, kGroupRows);
    LinesAhead ahead;
    ahead.next = weight_.PanelData(panel + kPanels);
    ahead.step_lines =
        CeilDiv(kPanels * kTileSums * static_cast<int64_t>(sizeof(uint32_t)), kLineBytes * groups);
    for (int64_t step = 0; step < steps_; step += kTileStepsTogether) {
      const int64_t count = std::min(kTileStepsTogether, steps_ - step);
      for (int64_t group = 0; group < groups; ++group) {
        if (rows_ - group * kGroupRows > kPanelWidth) {
          MultiplyGroup<2, kPanels>(group, panel, step, count, ahead);
        } else {
          MultiplyGroup<1, kPanels>(group, panel, step, count, ahead);
        }
        ahead.next += count * ahead.step_lines * kLineBytes;
      }
    }
    Finish<kPanels>(panel);
  }

 private:
  static constexpr int64_t kGroupRows = 2 * kPanelWidth;
  static constexpr int64_t kLineBytes = 64;

  // Each product asks for its share of the next panels.
  struct LinesAhead {
    const std::byte* next;
    int64_t step_lines;

    HWY_INLINE void operator()(int64_t step) const {
      const std::byte* from = next + step * step_lines * kLineBytes;
      for (int64_t i = 0; i < step_lines; ++i) __builtin_prefetch(from + i * kLineBytes, 0, 2);
    }
  };

  // [16][16]
  template <int kPanels>
  HWY_INLINE float* Sums(int64_t row_tile, int panel) const {
    return sums_ + (row_tile * kPanels + panel) * kTileSums;
  }

  template <int kRowTiles, int kPanels>
  HWY_INLINE void MultiplyGroup(int64_t group, int64_t panel, int64_t step, int64_t count,
                                const LinesAhead& ahead) const {
    TileProduct<kRowTiles, kPanels> product;
    product.a_step = kTileElements;
    for (int p = 0; p < kPanels; ++p) {
      product.b[p] = weight_.PanelPairs(panel + p) + step * kTileSums;
    }
    for (int t = 0; t < kRowTiles; ++t) {
      product.a[t] = packed_ + ((2 * group + t) * steps_ + step) * kTileElements;
      for (int p = 0; p < kPanels; ++p) product.sums[t][p] = Sums<kPanels>(2 * group + t, p);
    }
    if (step == 0) {
      product.Multiply(count, ahead);
    } else {
      product.template Multiply<true>(count, ahead);
    }
  }

  template <int kPanels>
  HWY_INLINE void Finish(int64_t panel) const {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int p = 0; p < kPanels; ++p) {
        const float* from = Sums<kPanels>(row / kPanelWidth, p) + row % kPanelWidth * kPanelWidth;
        const int64_t column = (panel + p) * kPanelWidth;
        ForVectors(std::min<int64_t>(kPanelWidth, weight_.n - column),
                   [&](int64_t i, auto lanes) HWY_ATTR {
                     epilogue_(first_row_ + row, column + i, Load(from + i, All()), lanes);
                   });
      }
    }
  }

  const PackedView weight_;
  const int64_t first_row_;
  const int64_t rows_;
  const int64_t steps_;
  const BF16* const packed_;
  float* const sums_;
  const Epilogue& epilogue_;
};

template <int kPanels, class Block>
HWY_INLINE void MultiplyPanels(const Block& block, int64_t panel_begin, int64_t panel_end) {
  int64_t panel = panel_begin;
  for (; panel + kPanels <= panel_end; panel += kPanels) block.template Multiply<kPanels>(panel);
  for (; panel < panel_end; ++panel) block.template Multiply<1>(panel);
}

template <Products kProducts, int kRows, int kPanels, class Epilogue>
HWY_INLINE void GemmBlocks(const ConstActivations& x, PackedView weight, int64_t panel_begin,
                           int64_t panel_end, float* scratch, const Epilogue& epilogue) {
  const int64_t block = GemmBlockRows(weight.k);
  static_assert(kRows == kFewTileRows || kPanels <= kMostTilePanels);
  for (int64_t row = 0; row < x.rows; row += block) {
    const int64_t rows = std::min(block, x.rows - row);
    if constexpr (kProducts == Products::kBF16Pairs) {
      auto* packed = reinterpret_cast<uint32_t*>(scratch);
      PackRowPairs<kRows>(x.Rows(row, rows), packed);
      MultiplyPanels<kPanels>(PairGemmBlock<kRows, Epilogue>(weight, row, rows, packed, epilogue),
                              panel_begin, panel_end);
    } else {
      float* expanded = scratch + block * weight.k;
      PackRows<kRows>(x.Rows(row, rows), scratch);
      MultiplyPanels<kPanels>(
          GemmBlock<kRows, Epilogue>(weight, row, rows, scratch, expanded, epilogue), panel_begin,
          panel_end);
    }
  }
}

template <class Epilogue>
HWY_INLINE void TileGemm(const ConstActivations& x, PackedView weight, int64_t panel_begin,
                         int64_t panel_end, float* scratch, const Epilogue& epilogue) {
  const TileRegisters registers;
  const int64_t block = TileGemmBlockRows(weight.k);
  auto* packed = reinterpret_cast<BF16*>(scratch + TileGemmSums(block));
  for (int64_t row = 0; row < x.rows; row += block) {
    const int64_t rows = std::min(block, x.rows - row);
    PackRowTiles(x.Rows(row, rows), packed);
    MultiplyPanels<2>(TileGemmBlock<Epilogue>(weight, row, rows, packed, scratch, epilogue),
                      panel_begin, panel_end);
  }
}

// Of a weight that is packed for kProducts.
template <Products kProducts, class Epilogue>
HWY_INLINE void GemmOf(const ConstActivations& x, PackedView weight, int64_t panel_begin,
                       int64_t panel_end, float* scratch, const Epilogue& epilogue) {
  if constexpr (kProducts == Products::kBF16Tiles) {
    TileGemm(x, weight, panel_begin, panel_end, scratch, epilogue);
  } else if (x.rows <= kFewTileRows) {
    GemmBlocks<kProducts, kFewTileRows, kFewTilePanels>(x, weight, panel_begin, panel_end, scratch,
                                                        epilogue);
  } else {
    GemmBlocks<kProducts, kTileRows, kTilePanels>(x, weight, panel_begin, panel_end, scratch,
                                                  epilogue);
  }
}

// Columns [panel_begin, panel_end) * 16 of x * weight^T. `scratch` holds GemmScratch(k) floats.
// kMayBeBF16: the weight may be packed for products of bf16; then x is rounded to it.
template <bool kMayBeBF16 = false, class Epilogue>
HWY_INLINE void Gemm(const ConstActivations& x, PackedView weight, int64_t panel_begin,
                     int64_t panel_end, float* scratch, const Epilogue& epilogue) {
  WithProducts<kMayBeBF16>(weight.products, [&](auto products) HWY_ATTR {
    GemmOf<decltype(products)::value>(x, weight, panel_begin, panel_end, scratch, epilogue);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_GEMM_INL_H_
