#include "kernels/hstu_attention.h"

#include <limits>

#include "kernels/reshape_and_cache.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class HstuAttention : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(HstuAttention);

// A history in pages that lie in a shuffled order, with NaN in every slot that holds no token.
struct History {
  History(int64_t first, int64_t end, KvPageLayout layout)
      : layout(layout),
        k(end - first, layout.heads * layout.dim, 11, 0.7f),
        v(end - first, layout.heads * layout.dim, 12) {
    const int64_t first_page = first / layout.page_tokens;
    const int64_t pages = CeilDiv(end, layout.page_tokens) - first_page;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    keys.assign(std::max<int64_t>(1, pages) * layout.KeyPageFloats(), nan);
    values.assign(std::max<int64_t>(1, pages) * layout.ValuePageFloats(), nan);
    for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(i));
    std::shuffle(table.begin(), table.end(), std::mt19937(3));
    blocks = {keys.data(), values.data(), table.data(), first_page};
    ReshapeAndCache({k.view(), v.view(), first, layout, blocks});
  }

  KvPageLayout layout;
  TestMatrix k, v;
  std::vector<float> keys, values;
  std::vector<int32_t> table;
  KvBlocks blocks;
};

struct Shape {
  AttentionKind kind = AttentionKind::kSilu;
  KvPageLayout layout{2, 20, 32};
  AttentionMask mask;
  int64_t position = 0;  // of the first row
  int64_t rows = 0;
};

class Attention {
 public:
  explicit Attention(const Shape& setup)
      : setup_(setup),
        history_(setup.mask.history_begin, setup.mask.history_end, setup.layout),
        candidates_(std::max<int64_t>(0, setup.position + setup.rows - setup.mask.history_end)),
        q_(setup.rows, Width(), 1, 0.7f),
        group_k_(candidates_ + 1, Width(), 2, 0.7f),
        group_v_(candidates_ + 1, Width(), 3) {}

  int64_t Width() const { return setup_.layout.heads * setup_.layout.dim; }

  // All heads of all rows, in calls of `block` rows.
  TestMatrix Run(HstuAttentionFn* op, int64_t block = kQueryBlock) const {
    TestMatrix out(setup_.rows, Width(), 9);
    const int64_t dim = setup_.layout.dim;
    const auto scratch = AllocateAligned<float>(HstuAttentionScratch(dim));
    for (int64_t row = 0; row < setup_.rows; row += block) {
      const int64_t count = std::min(block, setup_.rows - row);
      for (int64_t head = 0; head < setup_.layout.heads; ++head) {
        const int64_t column = head * dim;
        op({setup_.kind, 96.0f, setup_.layout, history_.blocks, setup_.mask, head,
            setup_.position + row, q_.view().Rows(row, count).Cols(column, dim),
            out.view().Rows(row, count).Cols(column, dim), group_k_.view().Cols(column, dim),
            group_v_.view().Cols(column, dim), scratch.get()});
      }
    }
    return out;
  }

 private:
  Shape setup_;
  History history_;
  int64_t candidates_;
  TestMatrix q_, group_k_, group_v_;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> setups;
  for (const AttentionKind kind : {AttentionKind::kSilu, AttentionKind::kSoftmax}) {
    for (const KvPageLayout layout : {KvPageLayout{2, 20, 32}, KvPageLayout{1, 1, 64},
                                      KvPageLayout{3, 16, 128}, KvPageLayout{1, 128, 32}}) {
      for (const auto& [history, candidates] :
           {std::pair<int64_t, int64_t>{0, 1}, {1, 0}, {5, 7}, {47, 3}, {256, 50}, {600, 70}}) {
        if (layout.dim == 128 && history > 256) continue;  // seconds, for nothing new
        Shape setup{kind, layout, {}, 0, history + candidates};
        setup.mask.history_end = history;
        setups.push_back(setup);
        setup.mask.group = 3;
        setups.push_back(setup);
        setup.mask.group = 1000;
        setup.mask.window = 37;
        setups.push_back(setup);
        setup.mask.num_context = std::min<int64_t>(4, history);
        setup.mask.contextual_mask = true;
        setup.mask.window = 0;
        setups.push_back(setup);
      }
    }
    // Evicted history: the first page begins in its middle.
    Shape evicted{kind, {2, 16, 64}, {}, 700, 30};
    evicted.mask.history_begin = 352;
    evicted.mask.history_end = 712;
    setups.push_back(evicted);
    evicted.mask.window = 100;
    setups.push_back(evicted);
  }
  return setups;
}

TEST_P(HstuAttention, IsCloseToItsReferenceForEveryMaskAndOddSizes) {
  for (const Shape& setup : Shapes()) {
    const Attention attention(setup);
    const TestMatrix actual = attention.Run(HstuAttentionFor(GetParam()));
    ExpectClose(actual.view(), attention.Run(HstuAttentionPlain).view());
    actual.ExpectGapsUntouched();
  }
}

TEST_P(HstuAttention, GivesARowTheSameBitsWhateverRowsStandBesideIt) {
  for (const Shape& setup : Shapes()) {
    const Attention attention(setup);
    HstuAttentionFn* op = HstuAttentionFor(GetParam());
    const TestMatrix whole = attention.Run(op);
    for (const int64_t block : {1, 5, 17}) {
      ExpectSameBits(attention.Run(op, block).view(), whole.view());
    }
  }
}

TEST_P(HstuAttention, SurvivesScoresThatOverflowAnExponential) {
  Shape setup{AttentionKind::kSilu, {1, 4, 32}, {}, 0, 40};
  setup.mask.history_end = 40;
  for (const AttentionKind kind : {AttentionKind::kSilu, AttentionKind::kSoftmax}) {
    setup.kind = kind;
    const History history(0, 40, setup.layout);
    TestMatrix q(40, 4, 1, 1000.0f);
    TestMatrix actual(40, 4, 2);
    TestMatrix expected(40, 4, 3);
    const auto scratch = AllocateAligned<float>(HstuAttentionScratch(4));
    HstuAttentionArgs args{
        kind,          96.0f, setup.layout, history.blocks, setup.mask, 0, 0, q.view(),
        actual.view(), {},    {},           scratch.get()};
    HstuAttentionFor(GetParam())(args);
    args.out = expected.view();
    HstuAttentionPlain(args);
    ExpectClose(actual.view(), expected.view(), 1e-4);
  }
}

}  // namespace
}  // namespace hstu
