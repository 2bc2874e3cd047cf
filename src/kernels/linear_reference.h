// The scalar reference of all operators that multiply by a packed weight.
#ifndef HSTU_KERNELS_LINEAR_REFERENCE_H_
#define HSTU_KERNELS_LINEAR_REFERENCE_H_

#include <algorithm>
#include <cstdint>

#include "kernels/panel.h"
#include "tensor/view.h"

namespace hstu {

// Calls finish(row, column, sum) with sum = x[row] . weight[column], in double, for the columns
// [panel_begin * 16, panel_end * 16) that exist.
template <typename Finish>
void LinearReference(const ConstActivations& x, PackedView weight, int64_t panel_begin,
                     int64_t panel_end, const Finish& finish) {
  const int64_t end = std::min(panel_end * kPanelWidth, weight.n);
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t column = panel_begin * kPanelWidth; column < end; ++column) {
      double sum = 0.0;
      for (int64_t k = 0; k < x.cols; ++k) {
        sum += static_cast<double>(x.At(row, k)) * weight.At(column, k);
      }
      finish(row, column, sum);
    }
  }
}

}  // namespace hstu

#endif  // HSTU_KERNELS_LINEAR_REFERENCE_H_
