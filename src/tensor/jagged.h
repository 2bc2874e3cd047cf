// A jagged tensor: sequences of different lengths packed one behind the other. It owns nothing.
#ifndef HSTU_TENSOR_JAGGED_H_
#define HSTU_TENSOR_JAGGED_H_

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace hstu {

template <typename T>
struct JaggedView {
  MatrixView<T> values;              // [offsets.back(), C]
  std::span<const int64_t> offsets;  // [batch + 1], ascending from 0

  int64_t batch() const { return static_cast<int64_t>(offsets.size()) - 1; }
  MatrixView<T> Sequence(int64_t i) const {
    return values.Rows(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

}  // namespace hstu

#endif  // HSTU_TENSOR_JAGGED_H_
