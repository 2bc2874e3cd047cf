// Views of matrices: they own nothing.
#ifndef HSTU_TENSOR_VIEW_H_
#define HSTU_TENSOR_VIEW_H_

#include <cstdint>

namespace hstu {

// [rows, cols], row-major, `stride` elements from one row to the next.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  T* Row(int64_t row) const { return data + row * stride; }
  MatrixView Rows(int64_t begin, int64_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  MatrixView Cols(int64_t begin, int64_t count) const {
    return {data + begin, rows, count, stride};
  }
  // Implicit, as from T* to const T*.
  operator MatrixView<const T>() const {  // NOLINT(google-explicit-constructor)
    return {data, rows, cols, stride};
  }
};

using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;

}  // namespace hstu

#endif  // HSTU_TENSOR_VIEW_H_
