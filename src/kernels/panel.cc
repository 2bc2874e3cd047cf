#include "kernels/panel.h"

#include <cstring>

namespace hstu {

PackedView PackedShape(DType dtype, int64_t n, int64_t k, Products products) {
  const bool is_bf16 = dtype == DType::kBF16 || products != Products::kF32;
  return {nullptr, is_bf16 ? DType::kBF16 : DType::kF32, n, k, products};
}

void PackWeight(const std::byte* data, DType dtype, const PackedView& shape, std::byte* packed) {
  const auto from_bytes = static_cast<int64_t>(SizeOf(dtype));
  if (shape.n % kPanelWidth != 0 || shape.k % ProductDepth(shape.products) != 0) {
    std::memset(packed, 0, static_cast<size_t>(shape.bytes()));
  }
  const auto to_bytes = static_cast<int64_t>(SizeOf(shape.dtype));
  const bool pairs = shape.products != Products::kF32;
  for (int64_t row = 0; row < shape.n; ++row) {
    std::byte* to = packed + shape.Offset(row, 0);
    for (int64_t i = 0; i < shape.k; ++i) {
      const float value = LoadFloat(dtype, data + (row * shape.k + i) * from_bytes);
      const int64_t element = pairs ? i / 2 * 2 * kPanelWidth + i % 2 : i * kPanelWidth;
      StoreFloat(shape.dtype, value, to + element * to_bytes);
    }
  }
}

PackedMatrix::PackedMatrix(const std::byte* data, DType dtype, int64_t n, int64_t k,
                           Products products)
    : view_(PackedShape(dtype, n, k, products)), data_(AllocateAligned<std::byte>(view_.bytes())) {
  view_.data = data_.get();
  PackWeight(data, dtype, view_, data_.get());
}

}  // namespace hstu
