#include "kernels/panel.h"

#include <algorithm>

namespace hstu {

PackedMatrix::PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k)
    : n_(n), k_(k), data_(AllocateAligned<float>(CeilDiv(n, kPanelWidth) * k * kPanelWidth)) {
  const auto element = static_cast<int64_t>(SizeOf(dtype));
  for (int64_t panel = 0; panel < panels(); ++panel) {
    float* packed = data_.get() + panel * k * kPanelWidth;
    for (int64_t column = 0; column < kPanelWidth; ++column) {
      const int64_t row = panel * kPanelWidth + column;
      for (int64_t i = 0; i < k; ++i) {
        packed[i * kPanelWidth + column] =
            row < n ? LoadFloat(dtype, data + (row * k + i) * element) : 0.0f;
      }
    }
  }
}

}  // namespace hstu
