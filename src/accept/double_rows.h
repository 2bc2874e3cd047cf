// Rows of doubles, and what the reference does with them.
#ifndef HSTU_ACCEPT_DOUBLE_ROWS_H_
#define HSTU_ACCEPT_DOUBLE_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/panel.h"

namespace hstu {

// [rows, cols], row-major.
struct DoubleRows {
  int64_t cols = 0;
  std::vector<double> values;

  explicit DoubleRows(int64_t columns, int64_t num_rows = 0)
      : cols(columns), values(static_cast<size_t>(columns * num_rows)) {}

  int64_t rows() const { return static_cast<int64_t>(values.size()) / cols; }
  double* row(int64_t index) { return values.data() + index * cols; }
  const double* row(int64_t index) const { return values.data() + index * cols; }

  void Append(const DoubleRows& other);
  // Rows [begin, begin + count).
  DoubleRows Slice(int64_t begin, int64_t count) const;
  void EraseFront(int64_t count);
};

// A weight as its columns: [k, n].
DoubleRows Transposed(const PackedView& weight);

// x [m, k] -> x * weight + bias [m, n]; without bias where it is empty.
DoubleRows Linear(const DoubleRows& x, const DoubleRows& weight, std::span<const float> bias,
                  ThreadPool* pool);

// Population variance over each row.
void LayerNorm(std::span<const float> weight, std::span<const float> bias, double epsilon,
               DoubleRows* x);

double Silu(double x);

}  // namespace hstu

#endif  // HSTU_ACCEPT_DOUBLE_ROWS_H_
