#include "kernels/panel.h"

namespace hstu {

PackedView PackedShape(DType dtype, int64_t n, int64_t k) {
  return {nullptr, dtype == DType::kBF16 ? DType::kBF16 : DType::kF32, n, k};
}

void PackWeight(const std::byte* data, DType dtype, int64_t n, int64_t k, std::byte* packed) {
  const PackedView shape = PackedShape(dtype, n, k);
  const auto from_bytes = static_cast<int64_t>(SizeOf(dtype));
  const auto to_bytes = static_cast<int64_t>(SizeOf(shape.dtype));
  for (int64_t row = 0; row < shape.panels() * kPanelWidth; ++row) {
    std::byte* column =
        packed + (row / kPanelWidth * k * kPanelWidth + row % kPanelWidth) * to_bytes;
    for (int64_t i = 0; i < k; ++i) {
      const float value = row < n ? LoadFloat(dtype, data + (row * k + i) * from_bytes) : 0.0f;
      StoreFloat(shape.dtype, value, column + i * kPanelWidth * to_bytes);
    }
  }
}

PackedMatrix::PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k)
    : view_(PackedShape(dtype, n, k)), data_(AllocateAligned<std::byte>(view_.bytes())) {
  view_.data = data_.get();
  PackWeight(data, dtype, n, k, data_.get());
}

}  // namespace hstu
