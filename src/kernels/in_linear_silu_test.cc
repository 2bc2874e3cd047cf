#include "kernels/in_linear_silu.h"

#include "kernels/gemm.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class InLinearSilu : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(InLinearSilu);

PackedMatrix Pack(int64_t n, int64_t k, unsigned seed, DType dtype = DType::kF32,
                  Products products = Products::kF32) {
  std::vector<std::byte> values(n * k * SizeOf(dtype));
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(k)));
  for (int64_t i = 0; i < n * k; ++i) {
    StoreFloat(dtype, normal(generator), values.data() + i * SizeOf(dtype));
  }
  return PackedMatrix(values.data(), dtype, n, k, products);
}

void Project(InLinearSiluFn* op, const ConstActivations& x, const PackedMatrix& weight,
             const float* bias, const Activations& out, int64_t begin, int64_t end) {
  const auto scratch = AllocateAligned<float>(GemmScratch(weight.k()));
  op({x, weight, bias, out, begin, end, scratch.get()});
}

TEST_P(InLinearSilu, IsCloseToItsReferenceForOddSizes) {
  for (const int64_t k : {1, 7, 44, 64, 700}) {
    for (const int64_t n : {1, 15, 16, 17, 240}) {
      for (const int64_t rows : {1, 5, 6, 13, 97, 131}) {
        const TestMatrix x(rows, k, 1);
        const TestMatrix bias(1, n, 2);
        const PackedMatrix weight = Pack(n, k, 3);
        TestMatrix actual(rows, n, 4);
        TestMatrix expected(rows, n, 5);
        Project(InLinearSiluFor(GetParam()), x.view(), weight, bias.data(), actual.view(), 0,
                weight.panels());
        Project(InLinearSiluPlain, x.view(), weight, bias.data(), expected.view(), 0,
                weight.panels());
        ExpectClose(actual.view(), expected.view());
        actual.ExpectGapsUntouched();
      }
    }
  }
}

TEST_P(InLinearSilu, GivesTheSameBitsForAnySplitOfRowsAndColumns) {
  const TestMatrix x(100, 44, 1);
  const TestMatrix bias(1, 240, 2);
  const PackedMatrix weight = Pack(240, 44, 3);
  TestMatrix whole(100, 240, 4);
  TestMatrix split(100, 240, 5);
  InLinearSiluFn* op = InLinearSiluFor(GetParam());
  Project(op, x.view(), weight, bias.data(), whole.view(), 0, weight.panels());
  for (int64_t row = 0; row < 100; row += 7) {
    const int64_t count = std::min<int64_t>(7, 100 - row);
    for (int64_t panel = 0; panel < weight.panels(); panel += 3) {
      Project(op, x.view().Rows(row, count), weight, bias.data(), split.view().Rows(row, count),
              panel, std::min(panel + 3, weight.panels()));
    }
  }
  ExpectSameBits(split.view(), whole.view());
}

// Weights of every type give the bits of the same weights in f32; bf16 results are those in f32,
// rounded.
TEST_P(InLinearSilu, TakesEveryTypeOfWeightsAndActivations) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t rows : {1, 3, 5, 40}) {
      const int64_t k = 150;
      const int64_t n = 77;
      const TestActivations x(TestMatrix(rows, k, 1).view(), DType::kBF16);
      const TestMatrix bias(1, n, 2);
      const PackedMatrix weight = Pack(n, k, 3, dtype);
      std::vector<float> values(n * k);
      for (int64_t i = 0; i < n * k; ++i) values[i] = weight.At(i / k, i % k);
      const PackedMatrix f32(reinterpret_cast<const std::byte*>(values.data()), DType::kF32, n, k);
      TestMatrix actual(rows, n, 4);
      TestMatrix expected(rows, n, 5);
      InLinearSiluFn* op = InLinearSiluFor(GetParam());
      Project(op, x.view(), weight, bias.data(), actual.view(), 0, weight.panels());
      Project(op, x.floats().view(), f32, bias.data(), expected.view(), 0, f32.panels());
      ExpectSameBits(actual.view(), expected.view());
      const TestActivations rounded(actual.view(), DType::kBF16);
      const TestActivations out(TestMatrix(rows, n, 6).view(), DType::kBF16);
      Project(op, x.view(), weight, bias.data(), out.view(), 0, weight.panels());
      ExpectSameBits(out.floats().view(), rounded.floats().view());
      out.ExpectGapsUntouched();
    }
  }
}

class InLinearSiluInBF16 : public OnEveryIsaWithProducts {};
HSTU_ON_EVERY_ISA_WITH_PRODUCTS(InLinearSiluInBF16);

TEST_P(InLinearSiluInBF16, IsCloseToItsReferenceAndTheSameForAnySplit) {
  const auto [isa, products] = GetParam();
  InLinearSiluFn* op = InLinearSiluFor(isa);
  for (const int64_t k : {1, 2, 7, 64, 515}) {
    for (const int64_t n : {1, 17, 240}) {
      const TestMatrix bias(1, n, 2);
      const PackedMatrix weight = Pack(n, k, 3, DType::kF32, products);
      for (const int64_t rows : {1, 3, 5, 97}) {
        // The layer norm's output is f32: it is rounded. The reference takes it rounded.
        const TestActivations x(TestMatrix(rows, k, 1).view(), DType::kBF16);
        const TestMatrix fine(rows, k, 1);
        const TestActivations actual(TestMatrix(rows, n, 4).view(), DType::kBF16);
        const TestActivations expected(TestMatrix(rows, n, 5).view(), DType::kBF16);
        Project(op, x.view(), weight, bias.data(), actual.view(), 0, weight.panels());
        Project(InLinearSiluPlain, x.view(), weight, bias.data(), expected.view(), 0,
                weight.panels());
        ExpectClose(actual.floats().view(), expected.floats().view(), 8e-3);  // a step of bf16
        actual.ExpectGapsUntouched();
        const TestActivations rounded(TestMatrix(rows, n, 7).view(), DType::kBF16);
        Project(op, fine.view(), weight, bias.data(), rounded.view(), 0, weight.panels());
        ExpectSameBits(rounded.floats().view(), actual.floats().view());
        const TestActivations split(TestMatrix(rows, n, 6).view(), DType::kBF16);
        for (int64_t row = 0; row < rows; row += 2) {
          const int64_t count = std::min<int64_t>(2, rows - row);
          for (int64_t panel = 0; panel < weight.panels(); panel += 3) {
            Project(op, x.view().Rows(row, count), weight, bias.data(),
                    split.view().Rows(row, count), panel, std::min(panel + 3, weight.panels()));
          }
        }
        ExpectSameBits(split.floats().view(), actual.floats().view());
      }
    }
  }
}

// Weights are rounded to bf16 where they are not; zeros stand past the end.
TEST(PackedForBF16, HoldsEveryElementRounded) {
  for (const Products products : {Products::kBF16Pairs, Products::kBF16Tiles}) {
    const int64_t depth = products == Products::kBF16Pairs ? 8 : 32;
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const PackedMatrix whole = Pack(33, 7, 3, dtype);
      const PackedMatrix packed = Pack(33, 7, 3, dtype, products);
      for (int64_t row = 0; row < 33; ++row) {
        for (int64_t col = 0; col < 7; ++col) {
          EXPECT_EQ(packed.At(row, col), FloatFromBF16(BF16FromFloat(whole.At(row, col))));
        }
        for (int64_t col = 7; col < depth; ++col) EXPECT_EQ(packed.At(row, col), 0.0f);
      }
      EXPECT_EQ(packed.view().bytes(), 3 * depth * kPanelWidth * 2);
    }
  }
}

TEST_P(InLinearSilu, LeavesColumnsOutsideItsPanelsAlone) {
  const TestMatrix x(9, 20, 1);
  const TestMatrix bias(1, 60, 2);
  const PackedMatrix weight = Pack(60, 20, 3);
  TestMatrix out(9, 60, 4);
  const TestMatrix before(9, 60, 4);
  Project(InLinearSiluFor(GetParam()), x.view(), weight, bias.data(), out.view(), 1, 2);
  ExpectSameBits(out.view().Cols(0, 16), before.view().Cols(0, 16));
  ExpectSameBits(out.view().Cols(32, 28), before.view().Cols(32, 28));
}

}  // namespace
}  // namespace hstu
