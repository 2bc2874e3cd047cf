// Matrices packed in panels of 16 columns: [panel][k][16], what a register tile reads in one
// stream.
#ifndef HSTU_KERNELS_PANEL_H_
#define HSTU_KERNELS_PANEL_H_

#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "tensor/dtype.h"

namespace hstu {

inline constexpr int kPanelWidth = 16;

// A weight [n, k] packed as the right side of x [m, k] * weight^T -> [m, n]. Columns past n are
// zero. It owns nothing.
struct PackedView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;  // f32 or bf16
  int64_t n = 0;
  int64_t k = 0;

  int64_t panels() const { return CeilDiv(n, kPanelWidth); }
  int64_t bytes() const { return panels() * k * kPanelWidth * static_cast<int64_t>(SizeOf(dtype)); }
  // [k, 16], of f32
  const float* Panel(int64_t panel) const {
    return reinterpret_cast<const float*>(PanelData(panel));
  }
  // [k, 16], of bf16
  const BF16* PanelBF16(int64_t panel) const {
    return reinterpret_cast<const BF16*>(PanelData(panel));
  }
  // Element [row, column] of the weight.
  float At(int64_t row, int64_t column) const {
    const auto element = static_cast<int64_t>(SizeOf(dtype));
    const int64_t index = column * kPanelWidth + row % kPanelWidth;
    return LoadFloat(dtype, PanelData(row / kPanelWidth) + index * element);
  }

  // Of either type.
  const std::byte* PanelData(int64_t panel) const {
    return data + panel * k * kPanelWidth * static_cast<int64_t>(SizeOf(dtype));
  }
};

// How a weight [n, k] of a model file is packed: bf16 stays bf16, half the bytes to read; f16 is
// made f32. Either is exact. The view has no data yet.
PackedView PackedShape(DType dtype, int64_t n, int64_t k);

// Packs n * k elements of `dtype`, row-major, to `packed`, which has the bytes of PackedShape.
void PackWeight(const std::byte* data, DType dtype, int64_t n, int64_t k, std::byte* packed);

// A packed weight with its memory.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k);

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
