#include "kernels/hstu_attention.h"

#include <cstdlib>
#include <limits>

#include "base/test_rounds.h"
#include "kernels/quantize_page.h"
#include "kernels/reshape_and_cache.h"
#include "kernels/testing.h"

namespace hstu {
namespace {

class HstuAttention : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(HstuAttention);

// Pages that lie in a shuffled order, with 0xff in every byte that holds no token: NaN in f32, bf16
// and f16.
struct Pages {
  Pages(int64_t first, int64_t end, KvPageLayout layout) {
    const int64_t first_page = first / layout.page_tokens;
    const int64_t pages = std::max<int64_t>(1, CeilDiv(end, layout.page_tokens) - first_page);
    keys.assign(pages * layout.KeyPageBytes(), std::byte{0xff});
    values.assign(pages * layout.ValuePageBytes(), std::byte{0xff});
    for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(i));
    std::shuffle(table.begin(), table.end(), std::mt19937(3));
    blocks = {keys.data(), values.data(), table.data(), first_page};
  }

  std::vector<std::byte> keys, values;
  std::vector<int32_t> table;
  KvBlocks blocks;
};

// A history, in f32 also where it is kept in int8: there a page's own rows read it in f32.
struct History {
  History(int64_t first, int64_t end, KvPageLayout layout, DType dtype)
      : layout(layout),
        k(end - first, layout.heads * layout.dim, 11, 0.7f),
        v(end - first, layout.heads * layout.dim, 12),
        kept(first, end, layout),
        own(first, end, layout.As(KvDType::kF32)) {
    const TestActivations typed_k(k.view(), dtype);
    const TestActivations typed_v(v.view(), dtype);
    if (layout.dtype != KvDType::kInt8) {
      ReshapeAndCachePlain({typed_k.view(), typed_v.view(), first, layout, kept.blocks});
      return;
    }
    const KvPageLayout f32 = layout.As(KvDType::kF32);
    ReshapeAndCachePlain({typed_k.view(), typed_v.view(), first, f32, own.blocks});
    for (int64_t at = RoundUp(first, layout.page_tokens); at + layout.page_tokens <= end;
         at += layout.page_tokens) {
      QuantizePagePlain({layout, own.blocks.KeyPage(at, f32), own.blocks.ValuePage(at, f32),
                         kept.blocks.KeyPage(at, layout), kept.blocks.ValuePage(at, layout)});
    }
  }

  OwnPage OwnOf(int64_t position, int64_t end) const {
    if (layout.dtype != KvDType::kInt8) return {};
    const KvPageLayout f32 = layout.As(KvDType::kF32);
    OwnPage page{position / layout.page_tokens};
    if (page.index * layout.page_tokens < end) {
      page.keys = own.blocks.KeyPage(position, f32);
      page.values = own.blocks.ValuePage(position, f32);
    }
    return page;
  }

  KvPageLayout layout;
  TestMatrix k, v;
  Pages kept, own;
};

struct Shape {
  AttentionKind kind = AttentionKind::kSilu;
  KvPageLayout layout{2, 20, 32};
  AttentionMask mask;
  int64_t position = 0;  // of the first row
  int64_t rows = 0;
  DType dtype = DType::kF32;
  Products products = Products::kF32;
};

class Attention {
 public:
  explicit Attention(const Shape& setup)
      : setup_(setup),
        history_(setup.mask.history_begin, setup.mask.history_end, setup.layout, setup.dtype),
        candidates_(std::max<int64_t>(0, setup.position + setup.rows - setup.mask.history_end)),
        q_(TestMatrix(setup.rows, Width(), 1, 0.7f).view(), setup.dtype),
        group_k_(TestMatrix(candidates_ + 1, Width(), 2, 0.7f).view(), setup.dtype),
        group_v_(TestMatrix(candidates_ + 1, Width(), 3).view(), setup.dtype) {}

  int64_t Width() const { return setup_.layout.heads * setup_.layout.dim; }

  // All heads of all rows, in calls of at most `block` rows; body(args) computes one.
  template <typename Body>
  TestActivations Run(const Body& body, int64_t block = kQueryBlock) const {
    TestActivations out(TestMatrix(setup_.rows, Width(), 9).view(), setup_.dtype);
    const int64_t dim = setup_.layout.dim;
    const auto scratch = AllocateAligned<float>(HstuAttentionScratch(dim));
    for (int64_t row = 0; row < setup_.rows;) {
      const int64_t position = setup_.position + row;
      const int64_t count = std::min({block, setup_.rows - row, Together(position)});
      const int64_t own = std::min(position, setup_.mask.history_end);
      for (int64_t head = 0; head < setup_.layout.heads; ++head) {
        const int64_t column = head * dim;
        body(HstuAttentionArgs{setup_.kind, 96.0f, setup_.layout, history_.kept.blocks, setup_.mask,
                               head, position, q_.view().Rows(row, count).Cols(column, dim),
                               out.view().Rows(row, count).Cols(column, dim),
                               group_k_.view().Cols(column, dim), group_v_.view().Cols(column, dim),
                               scratch.get(), history_.OwnOf(own, setup_.mask.history_end),
                               ConstActivations(), Activations(), setup_.products});
      }
      row += count;
    }
    return out;
  }

 private:
  // Rows from `position` on that may be computed in one call.
  int64_t Together(int64_t position) const {
    if (setup_.layout.dtype != KvDType::kInt8) return kQueryBlock;
    if (position >= setup_.mask.history_end) return kQueryBlock;
    const int64_t page = setup_.layout.page_tokens;
    return std::min((position / page + 1) * page, setup_.mask.history_end) - position;
  }

  Shape setup_;
  History history_;
  int64_t candidates_;
  TestActivations q_, group_k_, group_v_;
};

// Products of bf16: odd D, odd lengths, windows that begin and end within a product's keys.
std::vector<Shape> ShapesInBF16(AttentionKind kind, Products products) {
  std::vector<Shape> setups;
  for (const auto& [dim, rows] : {std::pair<int64_t, int64_t>{1, 40}, {7, 130}, {20, 330}}) {
    for (const int64_t window : {0, 1, 2, 37}) {
      Shape setup{kind, {2, dim, 32, KvDType::kBF16}, {}, 0, rows, DType::kBF16, products};
      setup.mask.history_end = rows - 21;
      setup.mask.group = 2;
      setup.mask.window = window;
      setups.push_back(setup);
    }
  }
  Shape evicted{kind, {1, 128, 64, KvDType::kBF16}, {}, 600, 30, DType::kBF16, products};
  evicted.mask.history_begin = 353;
  evicted.mask.history_end = 611;
  setups.push_back(evicted);
  return setups;
}

std::vector<Shape> Shapes(Isa isa) {
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
    // Every type of pages and activations.
    for (const KvDType kept : {KvDType::kBF16, KvDType::kF16, KvDType::kInt8}) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        Shape typed{kind, {2, 20, 32, kept}, {}, 0, 330, dtype};
        typed.mask.history_end = 300;
        typed.mask.group = 2;
        setups.push_back(typed);
        typed.layout.page_tokens = 128;
        typed.mask.history_end = 256;  // no page is open
        setups.push_back(typed);
      }
    }
    if (isa == Isa::kScalar && IsSlowBuild()) continue;
    for (const Products products : {Products::kBF16Pairs, Products::kBF16Tiles}) {
      if (!CanMultiply(products, isa)) continue;
      for (const Shape& setup : ShapesInBF16(kind, products)) setups.push_back(setup);
    }
  }
  return setups;
}

// Those whose bits are compared.
std::vector<Shape> ShapesOfBits(Isa isa) {
  const size_t step = !IsSlowBuild() ? 1 : isa == Isa::kScalar ? 9 : 3;
  const std::vector<Shape> all = Shapes(isa);
  std::vector<Shape> some;
  for (size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

// Besides f32's own error that of rounding the result, and with products of bf16 the weights.
double Tolerance(const Shape& setup) {
  if (setup.products != Products::kF32) return 8e-3;
  return setup.dtype == DType::kBF16 ? 4e-3 : 1e-5;
}

TEST_P(HstuAttention, IsCloseToItsReferenceForEveryMaskTypeAndOddSizes) {
  for (const Shape& setup : Shapes(GetParam())) {
    const Attention attention(setup);
    const TestActivations actual = attention.Run(HstuAttentionFor(GetParam()));
    ExpectClose(actual.floats().view(), attention.Run(HstuAttentionPlain).floats().view(),
                Tolerance(setup));
    actual.ExpectGapsUntouched();
  }
}

TEST_P(HstuAttention, GivesARowTheSameBitsWhateverRowsStandBesideIt) {
  for (const Shape& setup : ShapesOfBits(GetParam())) {
    const Attention attention(setup);
    HstuAttentionFn* op = HstuAttentionFor(GetParam());
    const TestActivations whole = attention.Run(op);
    for (const int64_t block : {1, 3, 5, 17}) {
      ExpectSameBits(attention.Run(op, block).floats().view(), whole.floats().view());
    }
  }
}

// Few rows whose keys threads share: chunk by chunk, in any order, then joined.
TEST_P(HstuAttention, GivesTheSameBitsInChunksThatAreJoined) {
  for (const Shape& setup : ShapesOfBits(GetParam())) {
    const Attention attention(setup);
    const TestActivations whole = attention.Run(HstuAttentionFor(GetParam()));
    for (const int64_t block : {int64_t{2}, kQueryBlock}) {
      const TestActivations joined = attention.Run(
          [&](const HstuAttentionArgs& args) {
            const int64_t first = args.mask.history_begin / kKeyChunk;
            const int64_t chunks = CeilDiv(args.mask.history_end, kKeyChunk) - first;
            const int64_t size = HstuAttentionPart(args.q.rows, args.q.cols);
            const auto parts = AllocateAligned<float>(chunks * size + 1);
            for (int64_t i = chunks - 1; i >= 0; --i) {
              HstuAttentionChunkFor(GetParam())(args, first + i, parts.get() + i * size);
            }
            HstuAttentionJoinFor(GetParam())(args, chunks, parts.get());
          },
          block);
      ExpectSameBits(joined.floats().view(), whole.floats().view());
    }
  }
}

// The last rows of each call in memory of their own, as an engine has few new tokens and
// candidates.
TEST_P(HstuAttention, GivesTheSameBitsWhereTheLastRowsLieElsewhere) {
  for (const Shape& setup : ShapesOfBits(GetParam())) {
    const Attention attention(setup);
    for (HstuAttentionFn* op : {HstuAttentionFor(GetParam()), HstuAttentionPlain}) {
      const TestActivations whole = attention.Run(op, 5);
      const TestActivations apart = attention.Run(
          [&](HstuAttentionArgs args) {
            const int64_t after = args.q.rows / 2;
            const int64_t before = args.q.rows - after;
            const TestMatrix room(after, args.q.cols, 4);
            const TestActivations elsewhere(room.view(), setup.dtype);
            const Activations out = args.out.Rows(before, after);
            for (int64_t i = 0; i < after * args.q.cols; ++i) {
              const auto [row, col] = std::div(i, args.q.cols);
              elsewhere.view().Set(row, col, args.q.At(before + row, col));
            }
            args.q = args.q.Rows(0, before);
            args.out = args.out.Rows(0, before);
            args.q_after = elsewhere.view();
            args.out_after = elsewhere.view();
            op(args);
            for (int64_t i = 0; i < after * args.q.cols; ++i) {
              const auto [row, col] = std::div(i, args.q.cols);
              out.Set(row, col, elsewhere.view().At(row, col));
            }
            elsewhere.ExpectGapsUntouched();
          },
          5);
      ExpectSameBits(apart.floats().view(), whole.floats().view());
    }
  }
}

TEST_P(HstuAttention, SurvivesScoresThatOverflowAnExponential) {
  for (const Products products : {Products::kF32, Products::kBF16Pairs, Products::kBF16Tiles}) {
    if (!CanMultiply(products, GetParam())) continue;
    const bool bf16 = products != Products::kF32;
    Shape setup{AttentionKind::kSilu, {1, 4, 32, bf16 ? KvDType::kBF16 : KvDType::kF32}, {}, 0, 40};
    setup.mask.history_end = 40;
    setup.dtype = bf16 ? DType::kBF16 : DType::kF32;
    setup.products = products;
    for (const AttentionKind kind : {AttentionKind::kSilu, AttentionKind::kSoftmax}) {
      setup.kind = kind;
      const History history(0, 40, setup.layout, setup.dtype);
      const TestActivations q(TestMatrix(40, 4, 1, 1000.0f).view(), setup.dtype);
      const TestActivations actual(TestMatrix(40, 4, 2).view(), setup.dtype);
      const TestActivations expected(TestMatrix(40, 4, 3).view(), setup.dtype);
      const auto scratch = AllocateAligned<float>(HstuAttentionScratch(4));
      HstuAttentionArgs args{
          kind,          96.0f, setup.layout, history.kept.blocks, setup.mask, 0, 0, q.view(),
          actual.view(), {},    {},           scratch.get()};
      args.products = products;
      HstuAttentionFor(GetParam())(args);
      args.out = expected.view();
      HstuAttentionPlain(args);
      ExpectClose(actual.floats().view(), expected.floats().view(), bf16 ? 8e-3 : 1e-4);
    }
  }
}

}  // namespace
}  // namespace hstu
