#include "kernels/panel.h"

namespace hstu {

PackedMatrix::PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k)
    : n_(n), k_(k), dtype_(dtype == DType::kBF16 ? DType::kBF16 : DType::kF32) {
  data_ = AllocateAligned<std::byte>(bytes());
  const auto from_bytes = static_cast<int64_t>(SizeOf(dtype));
  const auto to_bytes = static_cast<int64_t>(SizeOf(dtype_));
  for (int64_t row = 0; row < panels() * kPanelWidth; ++row) {
    std::byte* column = PanelData(row / kPanelWidth) + row % kPanelWidth * to_bytes;
    for (int64_t i = 0; i < k; ++i) {
      const float value = row < n ? LoadFloat(dtype, data + (row * k + i) * from_bytes) : 0.0f;
      StoreFloat(dtype_, value, column + i * kPanelWidth * to_bytes);
    }
  }
}

}  // namespace hstu
