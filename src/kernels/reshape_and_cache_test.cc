#include "kernels/reshape_and_cache.h"

#include "kernels/quantize_page.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class KvPages : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(KvPages);

// Two pages, filled with what no token is.
struct Pages {
  explicit Pages(const KvPageLayout& layout)
      : keys(2 * layout.KeyPageBytes(), std::byte{0x5a}),
        values(2 * layout.ValuePageBytes(), std::byte{0x5a}) {}

  KvBlocks blocks() { return {keys.data(), values.data(), table, 3}; }

  std::vector<std::byte> keys, values;
  int32_t table[2] = {1, 0};
};

TEST_P(KvPages, AreWrittenWithTheBitsOfTheReferenceForEveryTypeAndOddSizes) {
  for (const KvDType kept : {KvDType::kF32, KvDType::kBF16, KvDType::kF16}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const int64_t dim : {1, 7, 16, 20, 128, 300}) {
        const KvPageLayout layout{3, dim, 32, kept};
        const TestActivations k(TestMatrix(41, 3 * dim, 1).view(), dtype);
        const TestActivations v(TestMatrix(41, 3 * dim, 2, 300.0f).view(), dtype);
        Pages actual(layout);
        Pages expected(layout);
        ReshapeAndCacheFor(GetParam())({k.view(), v.view(), 101, layout, actual.blocks()});
        ReshapeAndCachePlain({k.view(), v.view(), 101, layout, expected.blocks()});
        ASSERT_EQ(actual.keys, expected.keys) << NameOf(kept) << ", dim " << dim;
        ASSERT_EQ(actual.values, expected.values) << NameOf(kept) << ", dim " << dim;
      }
    }
  }
}

TEST_P(KvPages, AreQuantizedWithTheBitsOfTheReferenceAndWithinHalfAStep) {
  for (const int64_t dim : {1, 7, 20, 128}) {
    const KvPageLayout layout{3, dim, 32, KvDType::kInt8};
    const KvPageLayout f32 = layout.As(KvDType::kF32);
    TestMatrix k(64, 3 * dim, 1);
    for (int64_t row = 0; row < 64; ++row) std::fill_n(k.view().Row(row), dim, 0.0f);  // head 0
    const TestMatrix v(64, 3 * dim, 2, 300.0f);
    Pages full(f32);
    ReshapeAndCachePlain({k.view(), v.view(), 96, f32, full.blocks()});
    Pages actual(layout);
    Pages expected(layout);
    for (const auto& [op, to] : {std::pair{QuantizePageFor(GetParam()), &actual},
                                 std::pair{&QuantizePagePlain, &expected}}) {
      for (const int64_t position : {96, 128}) {
        op({layout, full.blocks().KeyPage(position, f32), full.blocks().ValuePage(position, f32),
            to->blocks().KeyPage(position, layout), to->blocks().ValuePage(position, layout)});
      }
    }
    ASSERT_EQ(actual.keys, expected.keys) << "dim " << dim;
    ASSERT_EQ(actual.values, expected.values) << "dim " << dim;

    const auto* values = reinterpret_cast<const float*>(full.values.data());
    const float* scales = KvPageLayout::Scales(actual.values.data(), layout.ValuePageElements());
    const int64_t head_elements = layout.ValuePageElements() / layout.heads;
    for (int64_t i = 0; i < layout.ValuePageElements(); ++i) {
      const float scale = scales[i / head_elements];
      const auto integer = static_cast<int8_t>(actual.values[i]);
      ASSERT_LE(std::fabs(integer * scale - values[i]), 0.5001f * scale);
    }
  }
}

}  // namespace
}  // namespace hstu
