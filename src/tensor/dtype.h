// Element types of weights, activations and caches, and exact conversions of single values.
#ifndef HSTU_TENSOR_DTYPE_H_
#define HSTU_TENSOR_DTYPE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace hstu {

enum class DType { kF32, kF16, kBF16 };

// One element in memory.
struct BF16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

constexpr std::size_t SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

// The option's name: "f32", "f16", "bf16".
const char* NameOf(DType dtype);
// From that name, or the one of safetensors ("F32"). Nothing for any other.
std::optional<DType> DTypeFromName(std::string_view name);

// bf16 is the upper half of an f32.
inline float FloatFromBF16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// To nearest, ties to even. NaN stays NaN (quiet, with its sign).
inline std::uint16_t BF16FromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float FloatFromF16(std::uint16_t bits);
// To nearest, ties to even; beyond the largest f16 (65504) to infinity. NaN stays NaN.
std::uint16_t F16FromFloat(float value);

// One element at `data`, which needs no alignment.
inline float LoadFloat(DType dtype, const std::byte* data) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, data, sizeof(bits));
  return dtype == DType::kBF16 ? FloatFromBF16(bits) : FloatFromF16(bits);
}

inline void StoreFloat(DType dtype, float value, std::byte* data) {
  if (dtype == DType::kF32) {
    std::memcpy(data, &value, sizeof(value));
    return;
  }
  const std::uint16_t bits = dtype == DType::kBF16 ? BF16FromFloat(value) : F16FromFloat(value);
  std::memcpy(data, &bits, sizeof(bits));
}

// `count` elements; `from` and `to` need no alignment beyond to's own.
void LoadFloats(DType dtype, const std::byte* from, std::size_t count, float* to);

}  // namespace hstu

#endif  // HSTU_TENSOR_DTYPE_H_
