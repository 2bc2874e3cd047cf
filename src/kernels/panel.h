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
// x [m, k] * weight^T -> [m, n]. Columns past n are zero.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `data` holds n * k elements of `dtype`.
  PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k);

  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  int64_t panels() const { return CeilDiv(n_, kPanelWidth); }
  int64_t bytes() const { return panels() * k_ * kPanelWidth * sizeof(float); }
  // [k, 16]
  const float* Panel(int64_t panel) const { return data_.get() + panel * k_ * kPanelWidth; }
  float At(int64_t row, int64_t k) const {
    return Panel(row / kPanelWidth)[k * kPanelWidth + row % kPanelWidth];
  }

 private:
  int64_t n_ = 0;
  int64_t k_ = 0;
  AlignedArray<float> data_;
};

}  // namespace hstu

#endif  // HSTU_KERNELS_PANEL_H_
