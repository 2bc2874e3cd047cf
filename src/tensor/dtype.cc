#include "tensor/dtype.h"

namespace hstu {

const char* NameOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
  }
  return "unknown";
}

std::optional<DType> DTypeFromName(std::string_view name) {
  if (name == "f32" || name == "F32") return DType::kF32;
  if (name == "f16" || name == "F16") return DType::kF16;
  if (name == "bf16" || name == "BF16") return DType::kBF16;
  return std::nullopt;
}

float FloatFromF16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

std::uint16_t F16FromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x47800000u) return sign | 0x7c00u;  // 65536 and more, infinity
  if (magnitude < 0x38800000u) {                        // below the smallest normal f16, 2^-14
    // Adding 0.5 leaves the multiples of 2^-24 in the low bits, rounded as the hardware rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

void LoadFloats(DType dtype, const std::byte* from, std::size_t count, float* to) {
  if (dtype == DType::kF32) {
    if (count > 0) std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) to[i] = LoadFloat(dtype, from + 2 * i);
}

}  // namespace hstu
