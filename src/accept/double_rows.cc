#include "accept/double_rows.h"

#include <algorithm>
#include <cmath>

namespace hstu {

void DoubleRows::Append(const DoubleRows& other) {
  values.insert(values.end(), other.values.begin(), other.values.end());
}

DoubleRows DoubleRows::Slice(int64_t begin, int64_t count) const {
  DoubleRows slice(cols, count);
  std::copy_n(row(begin), count * cols, slice.values.begin());
  return slice;
}

void DoubleRows::EraseFront(int64_t count) {
  values.erase(values.begin(), values.begin() + count * cols);
}

DoubleRows Transposed(const PackedView& weight) {
  DoubleRows columns(weight.n, weight.k);
  for (int64_t k = 0; k < weight.k; ++k) {
    for (int64_t n = 0; n < weight.n; ++n) columns.row(k)[n] = weight.At(n, k);
  }
  return columns;
}

DoubleRows Linear(const DoubleRows& x, const DoubleRows& weight, std::span<const float> bias,
                  ThreadPool* pool) {
  DoubleRows out(weight.cols, x.rows());
  pool->Run(x.rows(), [&](int64_t row, int) {
    double* to = out.row(row);
    std::copy(bias.begin(), bias.end(), to);
    for (int64_t k = 0; k < x.cols; ++k) {
      const double factor = x.row(row)[k];
      const double* from = weight.row(k);
      for (int64_t n = 0; n < weight.cols; ++n) to[n] += factor * from[n];
    }
  });
  return out;
}

void LayerNorm(std::span<const float> weight, std::span<const float> bias, double epsilon,
               DoubleRows* x) {
  const auto size = static_cast<double>(x->cols);
  for (int64_t row = 0; row < x->rows(); ++row) {
    const std::span values(x->row(row), static_cast<size_t>(x->cols));
    double mean = 0.0;
    for (const double value : values) mean += value / size;
    double variance = 0.0;
    for (const double value : values) variance += (value - mean) * (value - mean) / size;
    const double factor = 1.0 / std::sqrt(variance + epsilon);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] - mean) * factor * weight[i] + bias[i];
    }
  }
}

double Silu(double x) { return x / (1.0 + std::exp(-x)); }

}  // namespace hstu
