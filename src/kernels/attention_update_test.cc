#include "kernels/attention_update.h"

#include <gmock/gmock.h>

#include <limits>

#include "kernels/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

class AttentionUpdate : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(AttentionUpdate);

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Parts of which some saw nothing; all memory begins one element off any larger alignment.
struct Case {
  Case(int64_t sp, int64_t rows, int64_t dim, DType dtype, float lse_scale)
      : sp(sp),
        rows(rows),
        dim(dim),
        dtype(dtype),
        element(static_cast<int64_t>(SizeOf(dtype))),
        lse(sp * rows + 1),
        parts((sp * rows * dim + 1) * element) {
    std::mt19937 random(static_cast<unsigned>(sp * 100 + rows * 10 + dim));
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    for (int64_t i = 0; i < sp * rows; ++i) {
      const bool nothing = random() % 5 == 0 || i % rows == 3;
      lse[i + 1] = nothing ? kNothing : lse_scale * uniform(random);
      for (int64_t c = 0; c < dim; ++c) {
        StoreFloat(dtype, nothing ? kNan : uniform(random),
                   parts.data() + (1 + i * dim + c) * element);
      }
    }
  }

  struct Merged {
    std::vector<std::byte> out;
    std::vector<float> lse;
  };

  Merged Run(AttentionUpdateFn* op, int64_t block) const {
    Merged merged{std::vector<std::byte>((rows * dim + 1) * element, std::byte{0x5a}),
                  std::vector<float>(rows + 1, 7.0f)};
    std::vector<float> scratch(AttentionUpdateScratch(sp, dim) + 1);
    for (int64_t row = 0; row < rows; row += block) {
      op({sp, rows, dim, dtype, reinterpret_cast<const std::byte*>(lse.data() + 1),
          parts.data() + element, merged.out.data() + element,
          reinterpret_cast<std::byte*>(merged.lse.data() + 1), row, std::min(rows, row + block),
          scratch.data() + 1});
    }
    return merged;
  }

  int64_t sp, rows, dim;
  DType dtype;
  int64_t element;
  std::vector<float> lse;
  std::vector<std::byte> parts;
};

TEST_P(AttentionUpdate, IsCloseToItsReferenceForEveryTypeAndOddSizes) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const double tolerance = dtype == DType::kF32 ? 1e-5 : dtype == DType::kF16 ? 1e-3 : 8e-3;
    for (const int64_t sp : {1, 2, 3, 8, 64}) {
      for (const int64_t dim : {1, 7, 16, 20, 128}) {
        for (const int64_t rows : {1, 5, 16, 77}) {
          const Case c(sp, rows, dim, dtype, 100.0f);
          const Case::Merged actual = c.Run(AttentionUpdateFor(GetParam()), rows);
          const Case::Merged expected = c.Run(AttentionUpdatePlain, rows);
          for (int64_t i = 0; i < rows * dim; ++i) {
            const std::byte* at = actual.out.data() + (i + 1) * c.element;
            const std::byte* to = expected.out.data() + (i + 1) * c.element;
            ASSERT_NEAR(LoadFloat(dtype, at), LoadFloat(dtype, to), tolerance)
                << "sp " << sp << ", d " << dim << ", r " << rows;
          }
          for (int64_t i = 1; i <= rows; ++i) {
            if (expected.lse[i] == kNothing) {
              ASSERT_EQ(actual.lse[i], kNothing);
            } else {
              ASSERT_NEAR(actual.lse[i], expected.lse[i], 1e-5 * 100.0);
            }
          }
        }
      }
    }
  }
}

TEST_P(AttentionUpdate, GivesTheSameBitsForAnySplitOfRows) {
  const Case c(5, 100, 20, DType::kF32, 10.0f);
  const Case::Merged whole = c.Run(AttentionUpdateFor(GetParam()), 100);
  for (const int64_t block : {1, 7, 33}) {
    const Case::Merged split = c.Run(AttentionUpdateFor(GetParam()), block);
    EXPECT_EQ(split.out, whole.out);
    EXPECT_EQ(std::memcmp(split.lse.data(), whole.lse.data(), 101 * sizeof(float)), 0);
  }
}

TEST_P(AttentionUpdate, GivesTheSameBitsForPartsThatLieApart) {
  const Case c(5, 37, 20, DType::kBF16, 10.0f);
  const Case::Merged stacked = c.Run(AttentionUpdateFor(GetParam()), 37);
  std::vector<std::vector<float>> lse;
  std::vector<std::vector<std::byte>> parts;
  std::vector<const std::byte*> lse_list;
  std::vector<const std::byte*> part_list;
  const int64_t bytes = c.rows * c.dim * c.element;
  for (int64_t i = 0; i < c.sp; ++i) {
    lse.emplace_back(c.lse.begin() + 1 + i * c.rows, c.lse.begin() + 1 + (i + 1) * c.rows);
    const auto begin = c.parts.begin() + c.element + i * bytes;
    parts.emplace_back(begin, begin + bytes);
    lse_list.push_back(reinterpret_cast<const std::byte*>(lse.back().data()));
    part_list.push_back(parts.back().data());
  }
  for (AttentionUpdateListFn* op : {AttentionUpdateListFor(GetParam()), AttentionUpdateListPlain}) {
    const bool plain = op == AttentionUpdateListPlain;
    const Case::Merged expected = plain ? c.Run(AttentionUpdatePlain, 37) : stacked;
    std::vector<std::byte> out(bytes);
    std::vector<float> merged(c.rows);
    std::vector<float> scratch(AttentionUpdateScratch(c.sp, c.dim));
    op({c.sp, c.rows, c.dim, c.dtype, lse_list.data(), part_list.data(), out.data(),
        reinterpret_cast<std::byte*>(merged.data()), 0, c.rows, scratch.data()});
    EXPECT_EQ(std::memcmp(out.data(), expected.out.data() + c.element, bytes), 0);
    EXPECT_EQ(std::memcmp(merged.data(), expected.lse.data() + 1, c.rows * sizeof(float)), 0);
  }
}

TEST_P(AttentionUpdate, IsZeroWhereNobodySawAnything) {
  const Case c(3, 16, 7, DType::kF32, 1.0f);  // row 3
  const Case::Merged merged = c.Run(AttentionUpdateFor(GetParam()), 16);
  EXPECT_EQ(merged.lse[4], kNothing);
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(LoadFloat(DType::kF32, merged.out.data() + (1 + 3 * 7 + i) * 4), 0.0f);
  }
}

struct Described {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  DType dtype = DType::kF32;
};

std::string ErrorOf(const Described& lse, const Described& parts, int64_t type,
                    const Described& out, const Described& lse_out) {
  static std::byte memory[4];
  const auto view = [](const Described& tensor) {
    return TensorView{memory, tensor.dtype, tensor.shape, tensor.strides};
  };
  const TensorView views[] = {view(lse), view(parts), view(out), view(lse_out)};
  const auto args = CheckAttentionUpdate(&views[0], &views[1], type, &views[2], &views[3]);
  return args.ok() ? "" : args.error().message;
}

TEST(AttentionUpdateCheck, NamesWhatIsWrong) {
  const Described lse{{2, 5}, {5, 1}};
  const Described parts{{2, 5, 3}, {15, 3, 1}};
  const Described out{{5, 3}, {3, 1}};
  const Described merged{{5}, {1}};
  EXPECT_EQ(ErrorOf(lse, parts, 1, out, merged), "");
  EXPECT_EQ(ErrorOf(lse, parts, 0, out, {}), "");
  EXPECT_THAT(ErrorOf(lse, parts, 2, out, merged), HasSubstr("updateType 2"));
  EXPECT_THAT(ErrorOf({{10}, {1}}, parts, 1, out, merged), HasSubstr("lse has rank 1"));
  EXPECT_THAT(ErrorOf({{0, 5}, {5, 1}}, parts, 1, out, merged), HasSubstr("sp is at least 1"));
  EXPECT_THAT(ErrorOf(lse, {{2, 4, 3}, {12, 3, 1}}, 1, out, merged),
              HasSubstr("localOut has shape [2, 4, 3]"));
  EXPECT_THAT(ErrorOf(lse, parts, 1, {{5, 4}, {4, 1}}, merged), HasSubstr("needs [5, 3]"));
  EXPECT_THAT(ErrorOf(lse, parts, 1, {{5, 3}, {3, 1}, DType::kF16}, merged),
              HasSubstr("out is f16; localOut is f32"));
  EXPECT_THAT(ErrorOf(lse, {{2, 5, 3}, {15, 1, 5}}, 1, out, merged), HasSubstr("contiguous"));
  EXPECT_THAT(ErrorOf({{2, 5}, {5, 1}, DType::kBF16}, parts, 1, out, merged),
              HasSubstr("lse is bf16; it must be f32"));
  EXPECT_THAT(ErrorOf(lse, parts, 1, out, {{4}, {1}}), HasSubstr("lseOut has shape [4]"));
}

}  // namespace
}  // namespace hstu
