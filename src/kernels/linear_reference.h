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
void LinearReference(ConstMatrix x, const PackedMatrix& weight, int64_t panel_begin,
                     int64_t panel_end, const Finish& finish) {
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
      double sums[kPanelWidth] = {};
      const float* b = weight.Panel(panel);
      for (int64_t k = 0; k < x.cols; ++k) {
        const double factor = x.Row(row)[k];
        for (int64_t j = 0; j < kPanelWidth; ++j) sums[j] += factor * b[k * kPanelWidth + j];
      }
      const int64_t first = panel * kPanelWidth;
      const int64_t count = std::min<int64_t>(kPanelWidth, weight.n() - first);
      for (int64_t j = 0; j < count; ++j) finish(row, first + j, sums[j]);
    }
  }
}

}  // namespace hstu

#endif  // HSTU_KERNELS_LINEAR_REFERENCE_H_
