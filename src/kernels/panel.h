// Matrices packed in panels of 16 columns: [panel][k][16], what a register tile reads in one
// stream.
#ifndef HSTU_KERNELS_PANEL_H_
#define HSTU_KERNELS_PANEL_H_

#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "kernels/products.h"
#include "tensor/dtype.h"

namespace hstu {

inline constexpr int kPanelWidth = 16;

// A weight [n, k] packed as the right side of x [m, k] * weight^T -> [m, n]. Columns past n are
// zero. For products of bf16 a panel is [k / 2][16][2] of bf16, k rounded up to whole products,
// zero past it. It owns nothing.
struct PackedView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;  // f32 or bf16
  int64_t n = 0;
  int64_t k = 0;
  Products products = Products::kF32;

  int64_t panels() const { return CeilDiv(n, kPanelWidth); }
  int64_t bytes() const { return panels() * PanelBytes(); }
  // [k, 16], of f32
  const float* Panel(int64_t panel) const {
    return reinterpret_cast<const float*>(PanelData(panel));
  }
  // [k, 16], of bf16
  const BF16* PanelBF16(int64_t panel) const {
    return reinterpret_cast<const BF16*>(PanelData(panel));
  }
  // [k / 2, 16], each the elements of two k, the first in the lower half
  const uint32_t* PanelPairs(int64_t panel) const {
    return reinterpret_cast<const uint32_t*>(PanelData(panel));
  }
  // Where element [row, column] of the weight lies, in bytes.
  int64_t Offset(int64_t row, int64_t column) const {
    const int64_t in_panel = products == Products::kF32
                                 ? column * kPanelWidth + row % kPanelWidth
                                 : (column / 2 * kPanelWidth + row % kPanelWidth) * 2 + column % 2;
    return row / kPanelWidth * PanelBytes() + in_panel * static_cast<int64_t>(SizeOf(dtype));
  }
  float At(int64_t row, int64_t column) const {
    return LoadFloat(dtype, data + Offset(row, column));
  }

  // Of either type.
  const std::byte* PanelData(int64_t panel) const { return data + panel * PanelBytes(); }

 private:
  int64_t PanelBytes() const {
    return RoundUp(k, ProductDepth(products)) * kPanelWidth * static_cast<int64_t>(SizeOf(dtype));
  }
};

// How a weight [n, k] of a model file is packed: bf16 stays bf16, half the bytes to read; f16 is
// made f32. Either is exact. For products of bf16 all are rounded to it. The view has no data yet.
PackedView PackedShape(DType dtype, int64_t n, int64_t k, Products products = Products::kF32);

// Packs n * k elements of `dtype`, row-major, to `packed`, which has the bytes of `shape`.
void PackWeight(const std::byte* data, DType dtype, const PackedView& shape, std::byte* packed);

// A packed weight with its memory.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k,
               Products products = Products::kF32);

  PackedView view() const { return view_; }
  // Implicit: operators take views.
  operator PackedView() const { return view_; }  // NOLINT(google-explicit-constructor)
  int64_t k() const { return view_.k; }
  int64_t panels() const { return view_.panels(); }
  float At(int64_t row, int64_t column) const { return view_.At(row, column); }

 private:
  PackedView view_;
  AlignedArray<std::byte> data_;
};

}  // namespace hstu

#endif  // HSTU_KERNELS_PANEL_H_
