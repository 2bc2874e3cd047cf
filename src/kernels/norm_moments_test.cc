#include "kernels/norm_mul.h"
#include "kernels/norm_mul_moments.h"
#include "kernels/row_moments.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class NormMoments : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(NormMoments);

constexpr int64_t kRows = 13;

TEST_P(NormMoments, OfPartsMakeTheNormOfTheWhole) {
  for (const int64_t part : {1, 7, 16, 44, 129}) {
    for (const int64_t ranks : {1, 2, 3}) {
      const int64_t cols = ranks * part;
      const TestMatrix x(kRows, cols, 1);
      const TestMatrix gate(kRows, cols, 2);
      const TestMatrix weight(1, cols, 3);
      const TestMatrix bias(1, cols, 4);
      TestMatrix actual(kRows, cols, 5);
      TestMatrix expected(kRows, cols, 6);
      NormMulPlain({x.view(), gate.view(), weight.data(), bias.data(), 1e-5f, expected.view()});

      std::vector<float> parts(ranks * kRows * 2);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        RowMomentsFor(GetParam())(
            {x.view().Cols(rank * part, part), parts.data() + rank * kRows * 2});
      }
      std::vector<float> moments(kRows * 2);
      JoinRowMoments(parts.data(), ranks, kRows, part, 1e-5f, moments.data());
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t at = rank * part;
        NormMulMomentsFor(GetParam())({x.view().Cols(at, part), gate.view().Cols(at, part),
                                       weight.data() + at, bias.data() + at, moments.data(),
                                       actual.view().Cols(at, part)});
      }
      ExpectClose(actual.view(), expected.view());
      actual.ExpectGapsUntouched();
    }
  }
}

TEST_P(NormMoments, AreCloseToTheirReferencesInEveryType) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const TestActivations x(TestMatrix(kRows, 44, 1).view(), dtype);
    const TestActivations gate(TestMatrix(kRows, 44, 2).view(), dtype);
    const TestMatrix weight(1, 44, 3);
    std::vector<float> actual(kRows * 2);
    std::vector<float> expected(kRows * 2);
    RowMomentsFor(GetParam())({x.view(), actual.data()});
    RowMomentsPlain({x.view(), expected.data()});
    for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-3);

    const TestActivations out(TestMatrix(kRows, 44, 4).view(), dtype);
    const TestActivations plain(TestMatrix(kRows, 44, 5).view(), dtype);
    NormMulMomentsFor(GetParam())(
        {x.view(), gate.view(), weight.data(), weight.data(), expected.data(), out.view()});
    NormMulMomentsPlain(
        {x.view(), gate.view(), weight.data(), weight.data(), expected.data(), plain.view()});
    ExpectClose(out.floats().view(), plain.floats().view(), dtype == DType::kF32 ? 1e-5 : 1e-2);
    out.ExpectGapsUntouched();
  }
}

}  // namespace
}  // namespace hstu
