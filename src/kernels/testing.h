// What the operators' tests share: random matrices, and closeness relative to the largest value.
#ifndef HSTU_KERNELS_TESTING_H_
#define HSTU_KERNELS_TESTING_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/cpu.h"
#include "kernels/products.h"
#include "tensor/view.h"

namespace hstu {

// Owns what a view points at; rows have a gap behind them that must stay as it is.
class TestMatrix {
 public:
  TestMatrix(int64_t rows, int64_t cols, unsigned seed, float scale = 1.0f)
      : stride_(cols + 3), values_(static_cast<std::size_t>(rows * (cols + 3) + 1), kGap) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0.0f, scale);
    view_ = {values_.data(), rows, cols, stride_};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < cols; ++col) view_.Row(row)[col] = normal(generator);
    }
  }
  TestMatrix(TestMatrix&&) = default;
  TestMatrix& operator=(TestMatrix&&) = default;

  Matrix view() const { return view_; }
  const float* data() const { return values_.data(); }

  void ExpectGapsUntouched() const {
    for (int64_t row = 0; row < view_.rows; ++row) {
      for (int64_t col = view_.cols; col < stride_; ++col) {
        ASSERT_EQ(view_.Row(row)[col], kGap) << "written past the end of row " << row;
      }
    }
  }

 private:
  static constexpr float kGap = 12345.0f;
  int64_t stride_;
  std::vector<float> values_;
  Matrix view_;
};

// A matrix's values as activations of some type, with gaps as TestMatrix has them.
class TestActivations {
 public:
  TestActivations(const ConstMatrix& values, DType dtype)
      : bytes_(static_cast<std::size_t>(values.rows * (values.cols + 3) * 4 + 4), std::byte{0x5a}),
        view_(bytes_.data(), values.rows, values.cols, values.cols + 3, dtype) {
    for (int64_t row = 0; row < values.rows; ++row) {
      for (int64_t col = 0; col < values.cols; ++col) view_.Set(row, col, values.Row(row)[col]);
    }
  }
  TestActivations(TestActivations&&) = default;
  TestActivations& operator=(TestActivations&&) = default;

  const Activations& view() const { return view_; }

  TestMatrix floats() const {
    TestMatrix values(view_.rows, view_.cols, 0);
    for (int64_t row = 0; row < view_.rows; ++row) {
      for (int64_t col = 0; col < view_.cols; ++col)
        values.view().Row(row)[col] = view_.At(row, col);
    }
    return values;
  }

  void ExpectGapsUntouched() const {
    for (int64_t row = 0; row < view_.rows; ++row) {
      const auto* end = bytes_.data() + (row * view_.stride + view_.cols) * view_.element_bytes();
      for (int64_t i = 0; i < 3 * view_.element_bytes(); ++i) {
        ASSERT_EQ(end[i], std::byte{0x5a}) << "written past the end of row " << row;
      }
    }
  }

 private:
  std::vector<std::byte> bytes_;
  Activations view_;
};

// Every element within `tolerance` times the largest absolute value that is expected.
inline void ExpectClose(ConstMatrix actual, ConstMatrix expected, double tolerance = 1e-5) {
  double largest = 0.0;
  for (int64_t row = 0; row < expected.rows; ++row) {
    for (int64_t col = 0; col < expected.cols; ++col) {
      largest = std::max<double>(largest, std::fabs(expected.Row(row)[col]));
    }
  }
  for (int64_t row = 0; row < expected.rows; ++row) {
    for (int64_t col = 0; col < expected.cols; ++col) {
      ASSERT_NEAR(actual.Row(row)[col], expected.Row(row)[col], tolerance * largest)
          << "row " << row << ", column " << col;
    }
  }
}

inline void ExpectSameBits(ConstMatrix actual, ConstMatrix expected) {
  for (int64_t row = 0; row < expected.rows; ++row) {
    ASSERT_EQ(std::memcmp(actual.Row(row), expected.Row(row), expected.cols * sizeof(float)), 0)
        << "row " << row;
  }
}

// A test that runs on every instruction set of the machine.
class OnEveryIsa : public testing::TestWithParam<Isa> {};

inline std::string IsaTestName(const testing::TestParamInfo<Isa>& info) {
  return std::string(IsaName(info.param));
}

#define HSTU_ON_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(Isas, suite, testing::ValuesIn(SupportedIsas()), IsaTestName)

// Of instruction sets, and of kinds of products other than kF32: those that can be computed here.
class OnEveryIsaWithProducts : public testing::TestWithParam<std::pair<Isa, Products>> {};

inline std::vector<std::pair<Isa, Products>> IsasWithProducts() {
  std::vector<std::pair<Isa, Products>> all;
  for (const Isa isa : SupportedIsas()) {
    for (const Products products : {Products::kBF16Pairs, Products::kBF16Tiles}) {
      if (CanMultiply(products, isa)) all.emplace_back(isa, products);
    }
  }
  return all;
}

inline std::string IsaWithProductsTestName(
    const testing::TestParamInfo<std::pair<Isa, Products>>& info) {
  const bool pairs = info.param.second == Products::kBF16Pairs;
  return std::string(IsaName(info.param.first)) + (pairs ? "_pairs" : "_tiles");
}

#define HSTU_ON_EVERY_ISA_WITH_PRODUCTS(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(IsasWithProducts, suite, testing::ValuesIn(IsasWithProducts()), \
                           IsaWithProductsTestName)

}  // namespace hstu

#endif  // HSTU_KERNELS_TESTING_H_
