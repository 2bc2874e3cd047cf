// Views of matrices: they own nothing.
#ifndef HSTU_TENSOR_VIEW_H_
#define HSTU_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

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

// Activations: [rows, cols] of f32 or bf16, row-major, `stride` elements from one row to the next.
template <typename Byte>
struct ActivationsView {
  Byte* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;
  DType dtype = DType::kF32;

  ActivationsView() = default;
  ActivationsView(Byte* data, int64_t rows, int64_t cols, int64_t stride, DType dtype)
      : data(data), rows(rows), cols(cols), stride(stride), dtype(dtype) {}
  // Implicit: f32 is one of the types.
  template <typename T>
  ActivationsView(MatrixView<T> m)  // NOLINT(google-explicit-constructor)
      : data(reinterpret_cast<Byte*>(m.data)), rows(m.rows), cols(m.cols), stride(m.stride) {}
  // Implicit, as from T* to const T*.
  operator ActivationsView<const std::byte>() const {  // NOLINT(google-explicit-constructor)
    return {data, rows, cols, stride, dtype};
  }

  int64_t element_bytes() const { return static_cast<int64_t>(SizeOf(dtype)); }
  ActivationsView Rows(int64_t begin, int64_t count) const {
    return {data + begin * stride * element_bytes(), count, cols, stride, dtype};
  }
  ActivationsView Cols(int64_t begin, int64_t count) const {
    return {data + begin * element_bytes(), rows, count, stride, dtype};
  }
  // The elements of a row; T is float or BF16, as dtype says.
  template <typename T>
  auto* RowAs(int64_t row) const {
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    return reinterpret_cast<Element*>(data) + row * stride;
  }
  float At(int64_t row, int64_t col) const {
    return LoadFloat(dtype, data + (row * stride + col) * element_bytes());
  }
  void Set(int64_t row, int64_t col, float value) const {
    StoreFloat(dtype, value, data + (row * stride + col) * element_bytes());
  }
};

using Activations = ActivationsView<std::byte>;
using ConstActivations = ActivationsView<const std::byte>;

// A row in f32.
inline void CopyAsFloats(const ConstActivations& from, int64_t row, float* to) {
  LoadFloats(from.dtype, from.data + row * from.stride * from.element_bytes(),
             static_cast<std::size_t>(from.cols), to);
}

}  // namespace hstu

#endif  // HSTU_TENSOR_VIEW_H_
