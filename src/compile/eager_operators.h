// The plain operators of the eager interpreter that no kernel is: one pass over memory each.
#ifndef HSTU_COMPILE_EAGER_OPERATORS_H_
#define HSTU_COMPILE_EAGER_OPERATORS_H_

#include <cstdint>

#include "base/cpu.h"

namespace hstu {

struct EagerOperators {
  // out[i] = in[i] / (1 + exp(-in[i]))
  void (*silu)(const float* in, int64_t size, float* out);
  // out[i] = in[i] * factor
  void (*scale)(const float* in, float factor, int64_t size, float* out);
  // out[i] = a[i] * b[i]
  void (*mul)(const float* a, const float* b, int64_t size, float* out);
  // out[i] = a[i] + b[i]
  void (*add)(const float* a, const float* b, int64_t size, float* out);
  // out[i] = max(0, in[i])
  void (*relu)(const float* in, int64_t size, float* out);
  // out = softmax of a row; -infinity weighs nothing
  void (*softmax)(const float* in, int64_t size, float* out);
  // Rows [n, k], `stride` apart, as the right side of x * rows^T -> [m, n]: see PackedView.
  void (*pack_rows)(const float* rows, int64_t n, int64_t k, int64_t stride, float* packed);
  // The same of rows^T: the right side of x [m, k] * rows -> [m, n] for rows [k, n].
  void (*pack_columns)(const float* rows, int64_t k, int64_t n, int64_t stride, float* packed);
};

EagerOperators EagerOperatorsFor(Isa isa);

}  // namespace hstu

#endif  // HSTU_COMPILE_EAGER_OPERATORS_H_
