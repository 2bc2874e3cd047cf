#include "kernels/l2_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/norm_mul.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class Norm : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(Norm);

constexpr int64_t kSizes[] = {1, 3, 8, 20, 44, 60, 64, 127, 512};

TEST_P(Norm, LayerNormIsCloseToItsReferenceForOddSizes) {
  for (const int64_t size : kSizes) {
    const TestMatrix x(13, size, 1);
    const TestMatrix weight(1, size, 2);
    const TestMatrix bias(1, size, 3);
    TestMatrix actual(13, size, 4);
    TestMatrix expected(13, size, 5);
    LayerNormFor(GetParam())({x.view(), weight.data(), bias.data(), 1e-5f, actual.view()});
    LayerNormPlain({x.view(), weight.data(), bias.data(), 1e-5f, expected.view()});
    ExpectClose(actual.view(), expected.view());
    actual.ExpectGapsUntouched();
  }
}

TEST_P(Norm, NormMulIsCloseToItsReferenceForOddSizesAndInPlace) {
  for (const int64_t size : kSizes) {
    const TestMatrix x(13, size, 1);
    const TestMatrix weight(1, size, 2);
    const TestMatrix bias(1, size, 3);
    TestMatrix actual(13, size, 4);  // the gate, and the output
    const TestMatrix gate(13, size, 4);
    TestMatrix expected(13, size, 5);
    NormMulFor(GetParam())(
        {x.view(), actual.view(), weight.data(), bias.data(), 1e-5f, actual.view()});
    NormMulPlain({x.view(), gate.view(), weight.data(), bias.data(), 1e-5f, expected.view()});
    ExpectClose(actual.view(), expected.view());
    actual.ExpectGapsUntouched();
  }
}

TEST_P(Norm, L2NormIsCloseToItsReferenceAndDividesByNoZero) {
  for (const int64_t size : kSizes) {
    TestMatrix x(13, size, 1);
    std::fill_n(x.view().Row(4), size, 0.0f);
    TestMatrix actual(13, size, 4);
    TestMatrix expected(13, size, 5);
    L2NormFor(GetParam())({x.view(), actual.view()});
    L2NormPlain({x.view(), expected.view()});
    ExpectClose(actual.view(), expected.view());
    EXPECT_EQ(actual.view().Row(4)[0], 0.0f);
    actual.ExpectGapsUntouched();
  }
}

TEST_P(Norm, TakesAndGivesBF16) {
  for (const int64_t size : kSizes) {
    const TestMatrix weight(1, size, 2);
    const TestMatrix bias(1, size, 3);
    const TestActivations x(TestMatrix(13, size, 1).view(), DType::kBF16);
    const TestActivations gate(TestMatrix(13, size, 4).view(), DType::kBF16);
    const TestActivations out(TestMatrix(13, size, 5).view(), DType::kBF16);
    TestMatrix expected(13, size, 6);
    NormMulFor(GetParam())({x.view(), gate.view(), weight.data(), bias.data(), 1e-5f, out.view()});
    NormMulFor(GetParam())({x.floats().view(), gate.floats().view(), weight.data(), bias.data(),
                            1e-5f, expected.view()});
    const TestActivations rounded(expected.view(), DType::kBF16);
    ExpectSameBits(out.floats().view(), rounded.floats().view());
    out.ExpectGapsUntouched();

    TestMatrix actual(13, size, 7);
    LayerNormFor(GetParam())({x.view(), weight.data(), bias.data(), 1e-5f, actual.view()});
    LayerNormFor(GetParam())(
        {x.floats().view(), weight.data(), bias.data(), 1e-5f, expected.view()});
    ExpectSameBits(actual.view(), expected.view());
    L2NormFor(GetParam())({x.view(), actual.view()});
    L2NormFor(GetParam())({x.floats().view(), expected.view()});
    ExpectSameBits(actual.view(), expected.view());
  }
}

}  // namespace
}  // namespace hstu
