#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace hstu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(DType, NamesRoundTripAndSafetensorsNamesAreKnown) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    EXPECT_EQ(DTypeFromName(NameOf(dtype)), dtype);
  }
  EXPECT_EQ(DTypeFromName("BF16"), DType::kBF16);
  EXPECT_EQ(DTypeFromName("F64"), std::nullopt);
  EXPECT_EQ(SizeOf(DType::kF32), 4u);
  EXPECT_EQ(SizeOf(DType::kBF16), 2u);
}

TEST(DType, EveryF16AndBF16ComesBackFromFloat) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float half = FloatFromF16(bits);
    if (!std::isnan(half)) {
      EXPECT_EQ(F16FromFloat(half), bits);
    }
    const float brain = FloatFromBF16(bits);
    if (!std::isnan(brain)) {
      EXPECT_EQ(BF16FromFloat(brain), bits);
    }
  }
}

// The oracle: the neighbour that is nearer, the even one of two that are as near.
template <typename ToFloat, typename FromFloat>
void ExpectNearestEven(float value, ToFloat to_float, FromFloat from_float) {
  const std::uint16_t got = from_float(value);
  const double error = std::abs(static_cast<double>(to_float(got)) - value);
  for (const int step : {-1, 1}) {
    const auto other = static_cast<std::uint16_t>(got + step);
    const float neighbour = to_float(other);
    if (!std::isfinite(neighbour)) continue;
    const double distance = std::abs(static_cast<double>(neighbour) - value);
    EXPECT_GE(distance, error) << value;
    if (distance == error) {
      EXPECT_EQ(got & 1, 0) << value;
    }
  }
}

TEST(DType, RoundsToNearestEven) {
  std::uint32_t bits = 1;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    if (std::abs(value) < 3e38f) ExpectNearestEven(value, FloatFromBF16, BF16FromFloat);
    const float small = std::ldexp(value, -(std::ilogb(value) + 1 + i % 28));  // f16's range
    ExpectNearestEven(small, FloatFromF16, F16FromFloat);
    ExpectNearestEven(small * 0x1p15f, FloatFromF16, F16FromFloat);
  }
}

TEST(DType, TiesGoToEvenOnBothSides) {
  EXPECT_EQ(BF16FromFloat(1.0f + 0x1p-8f), 0x3f80);            // halfway, down to even
  EXPECT_EQ(BF16FromFloat(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82);  // halfway, up to even
  EXPECT_EQ(F16FromFloat(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(F16FromFloat(1.0f + 0x1p-10f + 0x1p-11f), 0x3c02);
  EXPECT_EQ(F16FromFloat(0x1p-25f), 0);  // half of the smallest subnormal
  EXPECT_EQ(F16FromFloat(0x1.8p-24f), 2);
}

TEST(DType, OverflowIsInfinityAndNanStaysNan) {
  EXPECT_EQ(F16FromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(F16FromFloat(-kInfinity), 0xfc00);
  EXPECT_EQ(BF16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
  for (const std::uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u}) {
    const float value = std::bit_cast<float>(nan);
    EXPECT_TRUE(std::isnan(FloatFromBF16(BF16FromFloat(value))));
    EXPECT_TRUE(std::isnan(FloatFromF16(F16FromFloat(value))));
  }
}

TEST(DType, ElementsAreReadFromAnyAddress) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<std::byte> bytes(1 + 3 * SizeOf(dtype));
    for (int i = 0; i < 3; ++i) StoreFloat(dtype, 0.5f * i, bytes.data() + 1 + i * SizeOf(dtype));
    std::vector<float> values(3);
    LoadFloats(dtype, bytes.data() + 1, 3, values.data());
    EXPECT_EQ(values, (std::vector<float>{0.0f, 0.5f, 1.0f}));
  }
}

}  // namespace
}  // namespace hstu
