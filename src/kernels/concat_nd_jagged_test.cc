#include "kernels/concat_nd_jagged.h"

#include <gmock/gmock.h>

#include "kernels/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

struct Jagged {
  Jagged(std::vector<int64_t> lengths, int64_t cols, unsigned seed)
      : offsets(lengths.size() + 1, 0), values(0, 0, 0) {
    for (size_t i = 0; i < lengths.size(); ++i) offsets[i + 1] = offsets[i] + lengths[i];
    values = TestMatrix(offsets.back(), cols, seed);
  }
  JaggedView<const float> view() const { return {values.view(), offsets}; }

  std::vector<int64_t> offsets;
  TestMatrix values;
};

TEST(ConcatNdJagged, JoinsSequenceBySequenceForOddSizes) {
  for (const int64_t cols : {1, 5, 64}) {
    const Jagged a({3, 0, 1}, cols, 1);
    const Jagged b({0, 0, 7}, cols, 2);
    const Jagged c({2, 1, 0}, cols, 3);
    const std::vector<JaggedView<const float>> inputs = {a.view(), b.view(), c.view()};
    const auto offsets = ConcatNdJaggedOffsets(inputs);
    ASSERT_TRUE(offsets.ok());
    EXPECT_THAT(offsets.value(), testing::ElementsAre(0, 5, 6, 14));
    TestMatrix out(14, cols, 4);
    ASSERT_TRUE(ConcatNdJagged(inputs, {out.view(), offsets.value()}).ok());
    ExpectSameBits(out.view().Rows(0, 3), a.values.view().Rows(0, 3));
    ExpectSameBits(out.view().Rows(3, 2), c.values.view().Rows(0, 2));
    ExpectSameBits(out.view().Rows(5, 1), c.values.view().Rows(2, 1));
    ExpectSameBits(out.view().Rows(6, 1), a.values.view().Rows(3, 1));
    ExpectSameBits(out.view().Rows(7, 7), b.values.view());
    out.ExpectGapsUntouched();
  }
}

std::string MessageOf(const std::vector<JaggedView<const float>>& inputs) {
  const auto offsets = ConcatNdJaggedOffsets(inputs);
  return offsets.ok() ? "" : offsets.error().message;
}

TEST(ConcatNdJagged, NamesEachViolation) {
  const Jagged a({3, 0}, 4, 1);
  const Jagged other_batch({3, 0, 1}, 4, 2);
  const Jagged other_columns({3, 0}, 5, 3);
  Jagged broken({3, 2}, 4, 4);
  broken.offsets[1] = 6;
  EXPECT_THAT(MessageOf({a.view()}), HasSubstr("1 tensors given, at least 2 are needed"));
  EXPECT_THAT(MessageOf({a.view(), other_batch.view()}),
              HasSubstr("tensor 1 has batch 3, tensor 0 has 2"));
  EXPECT_THAT(MessageOf({a.view(), a.view(), other_columns.view()}),
              HasSubstr("tensor 2 has 5 columns, tensor 0 has 4"));
  EXPECT_THAT(MessageOf({a.view(), broken.view()}), HasSubstr("offsets of tensor 1"));
}

TEST(ConcatNdJagged, RefusesAResultOfAnotherShape) {
  const Jagged a({3, 0}, 4, 1);
  Jagged out({6, 1}, 4, 2);
  const std::vector<JaggedView<const float>> inputs = {a.view(), a.view()};
  const Status status = ConcatNdJagged(inputs, {out.values.view(), out.offsets});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("the result has shape [7, 4]"));
}

}  // namespace
}  // namespace hstu
