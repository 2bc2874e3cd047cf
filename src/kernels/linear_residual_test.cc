#include "kernels/linear_residual.h"

#include "kernels/gemm.h"
#include "kernels/linear.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class LinearResidual : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(LinearResidual);

struct Case {
  Case(int64_t rows, int64_t n, int64_t k)
      : x(rows, k, 1),
        residual(rows, n, 2),
        raw(n, k, 3, 1.0f / std::sqrt(static_cast<float>(k))),
        scratch(AllocateAligned<float>(GemmScratch(k))) {
    std::vector<float> values;
    for (int64_t row = 0; row < n; ++row) {
      values.insert(values.end(), raw.view().Row(row), raw.view().Row(row) + k);
    }
    weight = PackedMatrix(reinterpret_cast<const std::byte*>(values.data()), DType::kF32, n, k);
  }

  TestMatrix x, residual, raw;
  AlignedArray<float> scratch;
  PackedMatrix weight;
};

TEST_P(LinearResidual, IsCloseToItsReferenceForOddSizes) {
  for (const bool residual : {false, true}) {
    for (const int64_t k : {1, 60, 512}) {
      for (const int64_t n : {1, 16, 44, 65}) {
        for (const int64_t rows : {1, 11, 100}) {
          const Case c(rows, n, k);
          TestMatrix actual(rows, n, 4);
          TestMatrix expected(rows, n, 5);
          const ConstMatrix add = residual ? ConstMatrix(c.residual.view()) : ConstMatrix{};
          LinearResidualFor(GetParam())(
              {c.x.view(), c.weight, add, actual.view(), 0, c.weight.panels(), c.scratch.get()});
          LinearResidualPlain(
              {c.x.view(), c.weight, add, expected.view(), 0, c.weight.panels(), c.scratch.get()});
          ExpectClose(actual.view(), expected.view());
          actual.ExpectGapsUntouched();
        }
      }
    }
  }
}

TEST_P(LinearResidual, MayAddToItsOwnOutput) {
  const Case c(10, 44, 60);
  TestMatrix apart(10, 44, 4);
  TestMatrix in_place(10, 44, 2);  // the residual's seed
  LinearResidualFn* op = LinearResidualFor(GetParam());
  op({c.x.view(), c.weight, c.residual.view(), apart.view(), 0, c.weight.panels(),
      c.scratch.get()});
  op({c.x.view(), c.weight, in_place.view(), in_place.view(), 0, c.weight.panels(),
      c.scratch.get()});
  ExpectSameBits(in_place.view(), apart.view());
}

TEST_P(LinearResidual, TakesAndGivesBF16) {
  const Case c(10, 44, 60);
  const TestActivations x(c.x.view(), DType::kBF16);
  const TestActivations residual(c.residual.view(), DType::kBF16);
  const TestActivations out(TestMatrix(10, 44, 4).view(), DType::kBF16);
  TestMatrix expected(10, 44, 5);
  LinearResidualFn* op = LinearResidualFor(GetParam());
  op({x.view(), c.weight, residual.view(), out.view(), 0, c.weight.panels(), c.scratch.get()});
  op({x.floats().view(), c.weight, residual.floats().view(), expected.view(), 0, c.weight.panels(),
      c.scratch.get()});
  const TestActivations rounded(expected.view(), DType::kBF16);
  ExpectSameBits(out.floats().view(), rounded.floats().view());
  out.ExpectGapsUntouched();
}

PackedMatrix PackForProducts(int64_t n, int64_t k, Products products) {
  const TestMatrix values(n, k, 7);
  std::vector<float> dense;
  for (int64_t row = 0; row < n; ++row) {
    dense.insert(dense.end(), values.view().Row(row), values.view().Row(row) + k);
  }
  return {reinterpret_cast<const std::byte*>(dense.data()), DType::kF32, n, k, products};
}

class LinearResidualInBF16 : public OnEveryIsaWithProducts {};
HSTU_ON_EVERY_ISA_WITH_PRODUCTS(LinearResidualInBF16);

TEST_P(LinearResidualInBF16, IsCloseToItsReference) {
  const auto [isa, products] = GetParam();
  const PackedMatrix weight = PackForProducts(44, 59, products);
  const auto scratch = AllocateAligned<float>(GemmScratch(59));
  for (const int64_t rows : {1, 10, 33}) {
    const TestActivations x(TestMatrix(rows, 59, 1).view(), DType::kBF16);
    const TestActivations residual(TestMatrix(rows, 44, 2).view(), DType::kBF16);
    for (const bool adds : {false, true}) {
      const DType dtype = adds ? DType::kBF16 : DType::kF32;
      const ConstActivations add = adds ? residual.view() : ConstActivations();
      const TestActivations actual(TestMatrix(rows, 44, 3).view(), dtype);
      const TestActivations expected(TestMatrix(rows, 44, 4).view(), dtype);
      for (const auto& [op, out] : {std::pair{LinearResidualFor(isa), &actual},
                                    std::pair{&LinearResidualPlain, &expected}}) {
        op({x.view(), weight, add, out->view(), 0, weight.panels(), scratch.get()});
      }
      ExpectClose(actual.floats().view(), expected.floats().view(), adds ? 4e-3 : 1e-5);
      actual.ExpectGapsUntouched();
    }
  }
}

// What stands for an instruction on another ISA adds in the instruction's order.
TEST_P(LinearResidualInBF16, HasTheBitsOfTheScalarEmulation) {
  const auto [isa, products] = GetParam();
  const PackedMatrix weight = PackForProducts(75, 515, products);
  const auto scratch = AllocateAligned<float>(GemmScratch(515));
  const TestActivations x(TestMatrix(50, 515, 1).view(), DType::kBF16);
  TestMatrix actual(50, 75, 3);
  TestMatrix expected(50, 75, 4);
  for (const auto& [op, out] : {std::pair{LinearResidualFor(isa), &actual},
                                std::pair{LinearResidualFor(Isa::kScalar), &expected}}) {
    op({x.view(), weight, {}, out->view(), 0, weight.panels(), scratch.get()});
  }
  ExpectSameBits(actual.view(), expected.view());
}

// One scratch serves all multiplications up to its depth, as those of the head's layers.
TEST(GemmScratch, HoldsEveryBlockOfAnyDepthUpToItsOwn) {
  for (int64_t k = 1; k < 6000; ++k) {
    ASSERT_GE(GemmScratch(k), GemmBlockRows(k) * k + kMostTilePanels * k * kPanelWidth) << k;
    const int64_t tile_rows = TileGemmBlockRows(k);
    ASSERT_GE(GemmScratch(k), tile_rows * RoundUp(k, kTileDepth) / 2 + TileGemmSums(tile_rows))
        << k;
    ASSERT_GE(GemmScratch(k + 1), GemmScratch(k)) << k;
  }
}

TEST_P(LinearResidual, TheHeadsLinearIsCloseToItsReference) {
  for (const bool relu : {false, true}) {
    for (const int64_t n : {1, 8, 24, 64}) {
      const Case c(19, n, 44);
      const TestMatrix values(1, n, 7);
      const std::vector<float> bias(values.data(), values.data() + n);  // nothing behind its end
      TestMatrix actual(19, n, 4);
      TestMatrix expected(19, n, 5);
      LinearFor(GetParam())(
          {c.x.view(), c.weight, bias.data(), relu, actual.view(), c.scratch.get()});
      LinearPlain({c.x.view(), c.weight, bias.data(), relu, expected.view(), c.scratch.get()});
      ExpectClose(actual.view(), expected.view());
      actual.ExpectGapsUntouched();
    }
  }
}

}  // namespace
}  // namespace hstu
