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

// A weight [n, k], row-major as in a model file, packed once at load as the right side of
// x [m, k] * weight^T -> [m, n]. Columns past n are zero. bf16 stays bf16, half the bytes to read;
// f16 is made f32. Either is exact.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `data` holds n * k elements of `dtype`.
  PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k);

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  int64_t panels() const { return CeilDiv(n_, kPanelWidth); }
  DType dtype() const { return dtype_; }  // f32 or bf16
  int64_t bytes() const {
    return panels() * k_ * kPanelWidth * static_cast<int64_t>(SizeOf(dtype_));
  }
  // [k, 16], of f32
  const float* Panel(int64_t panel) const {
    return reinterpret_cast<const float*>(PanelData(panel));
  }
  // [k, 16], of bf16
  const BF16* PanelBF16(int64_t panel) const {
    return reinterpret_cast<const BF16*>(PanelData(panel));
  }
  // Element [row, k] of the weight.
  float At(int64_t row, int64_t k) const {
    const auto element = static_cast<int64_t>(SizeOf(dtype_));
    const int64_t index = k * kPanelWidth + row % kPanelWidth;
    return LoadFloat(dtype_, PanelData(row / kPanelWidth) + index * element);
  }

 private:
  std::byte* PanelData(int64_t panel) const {
    return data_.get() + panel * k_ * kPanelWidth * static_cast<int64_t>(SizeOf(dtype_));
  }

  int64_t n_ = 0;
  int64_t k_ = 0;
  DType dtype_ = DType::kF32;
  AlignedArray<std::byte> data_;
};

}  // namespace hstu

#endif  // HSTU_KERNELS_PANEL_H_
