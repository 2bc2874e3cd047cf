// The fused code of operator hstu_attention. Compiled once per target, and by artifacts
// (src/compile) with a model's sizes as constants.
#if defined(HSTU_KERNELS_HSTU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_HSTU_ATTENTION_INL_H_
#undef HSTU_KERNELS_HSTU_ATTENTION_INL_H_
#else
#define HSTU_KERNELS_HSTU_ATTENTION_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/bf16_tiles-inl.h"
#include "kernels/hstu_attention.h"
#include "kernels/math-inl.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

constexpr int kKeyPanels = kKeyChunk / kPanelWidth;
constexpr int64_t kValuePanel = kPanelWidth * kPanelWidth;
constexpr int kTileBlockRows = 2 * kPanelWidth;  // two row tiles and two panels at once

// The keys that the rows of one panel see: some row sees [begin, end), every row
// [all_begin, all_end).
struct PanelInterval {
  int64_t begin, end, all_begin, all_end;
};

// How a chunk's sum joins what came before: out = out * keep + chunk * take.
struct Rescale {
  float keep, take;
};

// The largest score of some keys and the sum of weights relative to it; 0 where none was seen.
struct SoftmaxSum {
  float top = -std::numeric_limits<float>::infinity();
  float total = 0.0f;
};

HWY_INLINE float Exp2Scalar(float x) { return hn::GetLane(Exp2(hn::Set(FloatTag(), x))); }

// The online softmax of one row.
HWY_INLINE Rescale Join(SoftmaxSum chunk, SoftmaxSum* row) {
  if (chunk.total == 0.0f) return {1.0f, 0.0f};
  const float joined = std::max(row->top, chunk.top);
  const Rescale rescale{Exp2Scalar(row->top - joined), Exp2Scalar(chunk.top - joined)};
  row->total = row->total * rescale.keep + chunk.total * rescale.take;
  row->top = joined;
  return rescale;
}

// Vectors of f32 from elements of a page.
template <KvDType kDType>
HWY_INLINE Floats LoadElements(const std::byte* data, int64_t element, Floats scale) {
  const auto* at = data + element * SizeOf(kDType);
  if constexpr (kDType == KvDType::kF32) {
    return hn::LoadU(FloatTag(), reinterpret_cast<const float*>(at));
  } else if constexpr (kDType == KvDType::kInt8) {
    const hn::Rebind<int8_t, FloatTag> d8;
    const auto integers = hn::PromoteTo(hn::RebindToSigned<FloatTag>(),
                                        hn::LoadU(d8, reinterpret_cast<const int8_t*>(at)));
    return hn::Mul(hn::ConvertTo(FloatTag(), integers), scale);
  } else {
    const auto bits = hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(at));
    return kDType == KvDType::kBF16 ? FloatsFromBF16(bits) : FloatsFromF16(bits);
  }
}

// Calls body with the type as a constant.
template <class Body>
HWY_INLINE void WithKvDType(KvDType dtype, const Body& body) {
  switch (dtype) {
    case KvDType::kF32:
      return body(std::integral_constant<KvDType, KvDType::kF32>());
    case KvDType::kBF16:
      return body(std::integral_constant<KvDType, KvDType::kBF16>());
    case KvDType::kF16:
      return body(std::integral_constant<KvDType, KvDType::kF16>());
    case KvDType::kInt8:
      return body(std::integral_constant<KvDType, KvDType::kInt8>());
  }
}

// Elements of a page, and what makes them f32.
struct PageElements {
  const std::byte* data;
  KvDType dtype;
  float scale;  // of int8

  HWY_INLINE PageElements From(int64_t element) const {
    return {data + element * SizeOf(dtype), dtype, scale};
  }
  // As f32, where they lie if they are.
  HWY_INLINE const float* AsFloats(int64_t count, float* HWY_RESTRICT room) const {
    if (dtype == KvDType::kF32) return reinterpret_cast<const float*>(data);
    WithKvDType(dtype, [&](auto constant) HWY_ATTR {
      const Floats factor = hn::Set(FloatTag(), scale);
      for (int64_t i = 0; i < count; i += kLanes) {
        hn::StoreU(LoadElements<decltype(constant)::value>(data, i, factor), FloatTag(), room + i);
      }
    });
    return room;
  }
};

// [rows, 16] of bf16 as pairs of rows: [ceil(rows / 2)][16], the last with 0 where rows are odd.
HWY_INLINE void PairRows(const BF16* HWY_RESTRICT from, int64_t rows, uint32_t* HWY_RESTRICT to) {
  const HalfBits d16;
  const auto load = [&](int64_t element) HWY_ATTR {
    return hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from + element));
  };
  for (int64_t row = 0; row < rows; row += 2) {
#if HWY_TARGET == HWY_AVX3
    if (row + 1 < rows) {
      hn::StoreU(PairsOf(hn::LoadU(PairTag(),
                                   reinterpret_cast<const uint32_t*>(from + row * kPanelWidth))),
                 PairTag(), to + row / 2 * kPanelWidth);
      continue;
    }
#endif
    for (int i = 0; i < kPanelWidth; i += kLanes) {
      const auto first = load(row * kPanelWidth + i);
      const auto second = row + 1 < rows ? load((row + 1) * kPanelWidth + i) : hn::Zero(d16);
      hn::StoreU(PairsOf(first, second), PairTag(), to + row / 2 * kPanelWidth + i);
    }
  }
}

// Panels of a page as the right side of a tile, made f32 where they are used.
template <KvDType kDType, int kPanels>
struct PagePanels {
  const std::byte* data[kPanels];
  Floats scale[kPanels];

  HWY_INLINE void Set(int panel, const PageElements& elements) {
    data[panel] = elements.data;
    scale[panel] = hn::Set(FloatTag(), elements.scale);
  }
  HWY_INLINE Floats Load(int panel, int64_t element) const {
    return LoadElements<kDType>(data[panel], element, scale[panel]);
  }
};

// A row of activations as f32, where it lies if it is.
HWY_INLINE const float* RowAsFloats(const ConstActivations& m, int64_t row, float* room) {
  if (m.dtype == DType::kF32) return m.RowAs<float>(row);
  const BF16* from = m.RowAs<BF16>(row);
  ForVectors(m.cols, [&](int64_t i, auto lanes)
                         HWY_ATTR { Store(Load(from + i, lanes), room + i, lanes); });
  return room;
}

// Tiles of kRows rows; kRows is small where few rows read many keys.
template <AttentionKind kKind, Products kProducts, int kRows, int kPanels>
class AttentionBlock {
 public:
  static constexpr bool kPairs = kProducts == Products::kBF16Pairs;
  static constexpr bool kTiles = kProducts == Products::kBF16Tiles;
  static constexpr int kMaxRowPanels = static_cast<int>(CeilDiv(kQueryBlock, kRows));
  // Of the left and the right side of a tile.
  using Factor = std::conditional_t<kPairs, uint32_t, float>;
  template <int kCount>
  using Panels = std::conditional_t<kPairs, PairPanels<kCount>, FloatPanels<kCount>>;

  static_assert(kRows == kFewTileRows || kPanels <= kMostTilePanels);
  static_assert(kFewTileRows <= kMostFewTileRows);

  HWY_INLINE explicit AttentionBlock(const HstuAttentionArgs& args)
      : args_(args),
        dim_(args.layout.dim),
        padded_dim_(args.layout.ValuePanels() * kPanelWidth),
        num_rows_(args.rows()),
        row_panels_(CeilDiv(num_rows_, kRows)),
        steps_(CeilDiv(dim_, ProductDepth(kProducts))),
        scale_(kLog2E / std::sqrt(static_cast<float>(dim_))),
        q_(args.scratch),
        weights_(q_ + kQueryBlock * padded_dim_),
        out_(weights_ + kQueryBlock * kKeyChunk),
        chunk_out_(out_ + kQueryBlock * padded_dim_),
        page_sums_(chunk_out_ + kQueryBlock * padded_dim_),
        group_sums_(page_sums_ + kFewTileRows * padded_dim_),
        q_row_(group_sums_ + padded_dim_),
        k_row_(q_row_ + padded_dim_),
        v_row_(k_row_ + padded_dim_),
        expanded_(v_row_ + padded_dim_) {
    PackQueries();
    FindIntervals();
  }

  HWY_INLINE void Run() {
    std::fill_n(out_, num_rows_ * padded_dim_, 0.0f);
    for (int64_t chunk = seen_.begin / kKeyChunk; chunk * kKeyChunk < seen_.end; ++chunk) {
      AddChunk(chunk * kKeyChunk);
      if constexpr (kKind == AttentionKind::kSoftmax) JoinChunk(chunk_out_, chunk_softmax_);
    }
    Finish();
  }

  // Only chunk number `chunk`: [m, padded D] sums, then (softmax) [m] SoftmaxSum.
  HWY_INLINE void RunChunk(int64_t chunk, float* part) {
    const int64_t base = chunk * kKeyChunk;
    (kKind == AttentionKind::kSoftmax ? chunk_out_ : out_) = part;
    std::fill_n(part, num_rows_ * padded_dim_, 0.0f);
    if (base < seen_.end && base + kKeyChunk > seen_.begin) AddChunk(base);
    if constexpr (kKind == AttentionKind::kSoftmax) {
      std::copy_n(chunk_softmax_, num_rows_, PartSoftmax(part));
    }
  }

  // What Run does after each chunk, and its end.
  HWY_INLINE void RunJoin(int64_t chunks, const float* parts) {
    std::fill_n(out_, num_rows_ * padded_dim_, 0.0f);
    for (int64_t i = 0; i < chunks; ++i) {
      const float* part = parts + i * HstuAttentionPart(num_rows_, dim_);
      if constexpr (kKind == AttentionKind::kSoftmax) {
        JoinChunk(part, PartSoftmax(const_cast<float*>(part)));
      } else {
        AddPart(part);
      }
    }
    Finish();
  }

 private:
  // Behind the sums of a chunk's part.
  HWY_INLINE SoftmaxSum* PartSoftmax(float* part) const {
    static_assert(sizeof(SoftmaxSum) == 2 * sizeof(float));
    return reinterpret_cast<SoftmaxSum*>(part + num_rows_ * padded_dim_);
  }

  // q -> [panel][D][kRows], scaled so that the score is in base 2; pairs, which stay as they are,
  // -> [panel][ceil(D / 2)][kRows]. Rows past the end repeat the panel's first. Or to left tiles.
  HWY_INLINE void PackQueries() {
    if constexpr (kTiles) {
      for (int64_t row = 0; row < num_rows_; ++row) {
        CopyToTiles(QueryBF16(row), dim_, RowOfTiles(QueryTiles(0), row, steps_));
      }
      return;
    }
    for (int64_t row = 0; row < row_panels_ * kRows; ++row) {
      Factor* to = Queries(row / kRows) + row % kRows;
      const int64_t source = SourceRow(row);
      if constexpr (kPairs) {
        CopyPairs<kRows>(QueryBF16(source), dim_, to);
      } else {
        const float* from = Query(source);
        for (int64_t i = 0; i < dim_; ++i) to[i * kRows] = from[i] * scale_;
      }
    }
  }

  HWY_INLINE Factor* Queries(int64_t row_panel) const {
    return reinterpret_cast<Factor*>(q_) + row_panel * kRows * steps_;
  }

  // The left tiles of a row panel's queries.
  HWY_INLINE BF16* QueryTiles(int64_t row_panel) const {
    return reinterpret_cast<BF16*>(q_) + row_panel * kRows * steps_ * kTileK;
  }

  HWY_INLINE const BF16* QueryBF16(int64_t row) const {
    return row < args_.q.rows ? args_.q.RowAs<BF16>(row)
                              : args_.q_after.RowAs<BF16>(row - args_.q.rows);
  }

  HWY_INLINE const float* Query(int64_t row) const {
    if (row < args_.q.rows) return RowAsFloats(args_.q, row, q_row_);
    return RowAsFloats(args_.q_after, row - args_.q.rows, q_row_);
  }

  HWY_INLINE int64_t SourceRow(int64_t row) const {
    return row < num_rows_ ? row : row / kRows * kRows;
  }

  HWY_INLINE void FindIntervals() {
    seen_ = {std::numeric_limits<int64_t>::max(), 0};
    for (int64_t panel = 0; panel < row_panels_; ++panel) {
      PanelInterval& interval = intervals_[panel];
      interval = {std::numeric_limits<int64_t>::max(), 0, 0, std::numeric_limits<int64_t>::max()};
      for (int r = 0; r < kRows; ++r) {
        const int64_t row = panel * kRows + r;
        const KeyInterval keys = args_.mask.History(args_.position + SourceRow(row));
        rows_[row] = keys;
        interval.begin = std::min(interval.begin, keys.begin);
        interval.end = std::max(interval.end, keys.end);
        interval.all_begin = std::max(interval.all_begin, keys.begin);
        interval.all_end = std::min(interval.all_end, keys.end);
      }
      seen_.begin = std::min(seen_.begin, interval.begin);
      seen_.end = std::max(seen_.end, interval.end);
    }
  }

  // silu: out += the chunk's sum. softmax: chunk_out and chunk_softmax are the chunk's.
  HWY_INLINE void AddChunk(int64_t base) {
    const int64_t begin = std::max(seen_.begin, base) - base;
    const int64_t end = std::min<int64_t>(seen_.end, base + kKeyChunk) - base;
    const int first = static_cast<int>(begin / kPanelWidth);
    const int last = static_cast<int>(CeilDiv(end, kPanelWidth));
    FindPages(base, first, last);
    if constexpr (kTiles) {
      for (int panel = first / 2 * 2; panel < last; panel += 2)
        ScoreTiles(base, panel, first, last);
      if constexpr (kKind == AttentionKind::kSoftmax) {
        SoftmaxChunk(base);
        RoundTiles(base);
      }
      const int value_panels = static_cast<int>(args_.layout.ValuePanels());
      int channel = 0;
      for (; channel + 2 <= value_panels; channel += 2) WeighTiles<2>(base, channel, first, last);
      if (channel < value_panels) WeighTiles<1>(base, channel, first, last);
    } else if constexpr (kRows == kFewTileRows && !kPairs) {
      ScoreFew(base, first, last);
      if constexpr (kKind == AttentionKind::kSoftmax) SoftmaxChunk(base);
      WeighPages(base);
    } else {
      int panel = first;
      for (; panel + kPanels <= last; panel += kPanels) ScorePanels<kPanels>(base, panel, last);
      for (; panel < last; ++panel) ScorePanels<1>(base, panel, last);
      if constexpr (kKind == AttentionKind::kSoftmax) SoftmaxChunk(base);
      if constexpr (kPairs) RoundWeights(base);
      const int value_panels = static_cast<int>(args_.layout.ValuePanels());
      int channel = 0;
      for (; channel + kPanels <= value_panels; channel += kPanels) {
        WeighValues<kPanels>(base, channel, first, last);
      }
      for (; channel < value_panels; ++channel) WeighValues<1>(base, channel, first, last);
    }
  }

  HWY_INLINE void FindPages(int64_t base, int first, int last) {
    const KvPageLayout& layout = args_.layout;
    for (int panel = first; panel < last; ++panel) {
      const int64_t position = base + panel * kPanelWidth;
      const int64_t entry = position % layout.page_tokens;
      PageElements keys;
      PageElements values;
      if (position / layout.page_tokens == args_.own.index) {
        keys = {args_.own.keys, KvDType::kF32, 1.0f};
        values = {args_.own.values, KvDType::kF32, 1.0f};
      } else {
        keys = {args_.history.KeyPage(position, layout), layout.dtype, 1.0f};
        values = {args_.history.ValuePage(position, layout), layout.dtype, 1.0f};
        if (layout.dtype == KvDType::kInt8) {
          keys.scale = KvPageLayout::Scales(keys.data, layout.KeyPageElements())[args_.head];
          values.scale = KvPageLayout::Scales(values.data, layout.ValuePageElements())[args_.head];
        }
      }
      keys_[panel] = keys.From(layout.KeyPanelOffset(args_.head, entry));
      values_[panel] = values.From(layout.ValueRowOffset(args_.head, 0, entry));
    }
  }

  HWY_INLINE float* Weights(int64_t row_panel, int key_panel) const {
    return weights_ + (row_panel * kKeyPanels + key_panel) * kRows * kPanelWidth;
  }

  // What follows upon a tile's panels of keys: the next ones, then values.
  template <int kKeys>
  HWY_INLINE StepsAhead<kKeys> AfterKeys(int key_panel, int last) const {
    StepsAhead<kKeys> ahead;
    ahead.step_bytes = StepBytes(key_panel);
    for (int p = 0; p < kKeys; ++p) {
      const int next = key_panel + kKeys + p;
      ahead.data[p] = next < last ? keys_[next].data : values_[last - 1].data;
    }
    return ahead;
  }

  // Of a panel of K or V: what one step of a tile reads.
  HWY_INLINE int64_t StepBytes(int key_panel) const {
    return kPanelWidth * static_cast<int64_t>(SizeOf(keys_[key_panel].dtype)) * (kPairs ? 2 : 1);
  }

  // A panel of keys as the right side of a tile; `room` has space for [D, 16].
  HWY_INLINE const Factor* Keys(int key_panel, float* room) const {
    if constexpr (kPairs) {
      auto* pairs = reinterpret_cast<uint32_t*>(room);
      PairRows(reinterpret_cast<const BF16*>(keys_[key_panel].data), dim_, pairs);
      return pairs;
    } else {
      return keys_[key_panel].AsFloats(kPanelWidth * dim_, room);
    }
  }

  // Scores (softmax) or weights (silu) of all rows that see something of these key panels.
  template <int kKeys>
  HWY_INLINE void ScorePanels(int64_t base, int key_panel, int last) {
    Panels<kKeys> b;
    for (int p = 0; p < kKeys; ++p) {
      b.data[p] = Keys(key_panel + p, expanded_ + p * kPanelWidth * steps_);
    }
    const int64_t first_key = base + key_panel * kPanelWidth;
    const StepsAhead<kKeys> ahead = AfterKeys<kKeys>(key_panel, last);
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const PanelInterval& interval = intervals_[row_panel];
      if (first_key >= interval.end || first_key + kKeys * kPanelWidth <= interval.begin) {
        continue;
      }
      Tile<kRows, kKeys> tile;
      tile.SetZero();
      const Factor* q = Queries(row_panel);
      if (row_panel == row_panels_ - 1) {
        tile.template MultiplyAdd<kRows, 1>(q, b, steps_, ahead);
      } else {
        tile.template MultiplyAdd<kRows, 1>(q, b, steps_);
      }
      StoreSeen<kKeys>(tile, row_panel, base, key_panel);
    }
  }

  // The same for the rows of one panel: each key is read once, the next ones are asked for.
  HWY_INLINE void ScoreFew(int64_t base, int first, int last) {
    int panel = first;
    while (panel < last) panel += ScoreNext(base, panel, last);
  }

  // Scores the next panels of keys: those of one tile, or one where their types differ. Returns how
  // many.
  HWY_INLINE int ScoreNext(int64_t base, int panel, int last) {
    if constexpr (kPanels > 1) {
      const PageElements* keys = keys_ + panel;
      const auto alike = [keys](const PageElements& k) { return k.dtype == keys->dtype; };
      if (panel + kPanels <= last && std::all_of(keys + 1, keys + kPanels, alike)) {
        ScoreAlike<kPanels>(base, panel, last);
        return kPanels;
      }
    }
    ScoreAlike<1>(base, panel, last);
    return 1;
  }

  template <int kKeys>
  HWY_INLINE void ScoreAlike(int64_t base, int panel, int last) {
    WithKvDType(keys_[panel].dtype, [&](auto constant) HWY_ATTR {
      ScoreFewPanels<decltype(constant)::value, kKeys>(base, panel, last);
    });
  }

  template <KvDType kDType, int kKeys>
  HWY_INLINE void ScoreFewPanels(int64_t base, int key_panel, int last) {
    PagePanels<kDType, kKeys> b;
    for (int p = 0; p < kKeys; ++p) b.Set(p, keys_[key_panel + p]);
    Tile<kRows, kKeys> tile;
    tile.SetZero();
    tile.template MultiplyAdd<kRows, 1>(q_, b, dim_, AfterKeys<kKeys>(key_panel, last));
    StoreSeen<kKeys>(tile, 0, base, key_panel);
  }

  template <int kKeys>
  HWY_INLINE void StoreSeen(const Tile<kRows, kKeys>& tile, int64_t row_panel, int64_t base,
                            int key_panel) {
    const PanelInterval& interval = intervals_[row_panel];
    const int64_t first_key = base + key_panel * kPanelWidth;
    float* weights = Weights(row_panel, key_panel);
    if (first_key >= interval.all_begin && first_key + kKeys * kPanelWidth <= interval.all_end) {
      StoreWeights<kKeys, false>(tile, rows_ + row_panel * kRows, first_key, weights);
    } else {
      StoreWeights<kKeys, true>(tile, rows_ + row_panel * kRows, first_key, weights);
    }
  }

  template <int kKeys, bool kMasked>
  HWY_INLINE void StoreWeights(const Tile<kRows, kKeys>& tile, const KeyInterval* rows,
                               int64_t first_key, float* HWY_RESTRICT weights) {
    const FloatTag d;
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < Tile<kRows, kKeys>::kVectors; ++v) {
        Floats value = tile.sum[r][v];
        if constexpr (kPairs) value = hn::Mul(value, hn::Set(d, scale_));
        if constexpr (kKind == AttentionKind::kSilu) value = SiluBase2(value);
        if constexpr (kMasked) value = OnlySeen(value, rows[r], first_key + v * kLanes);
        const int panel = v / kVectorsPerPanel;
        hn::StoreU(value, d,
                   weights + (panel * kRows + r) * kPanelWidth + v % kVectorsPerPanel * kLanes);
      }
    }
  }

  // Two panels of keys, from an even one on; panels outside [first, last) have no pages, and hold
  // zeros.
  HWY_INLINE void ScoreTiles(int64_t base, int key_panel, int first, int last) {
    const int64_t panel_pairs = steps_ * kTileSums;
    auto* keys = reinterpret_cast<uint32_t*>(expanded_);
    for (int p = 0; p < 2; ++p) KeyTiles(key_panel + p, first, last, keys + p * panel_pairs);
    const int64_t first_key = base + key_panel * kPanelWidth;
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const PanelInterval& interval = intervals_[row_panel];
      const int64_t end_key = first_key + 2 * kPanelWidth;
      if (first_key >= interval.end || end_key <= interval.begin) continue;
      alignas(64) float sums[2][2][kTileSums];
      if (RowsOf(row_panel) > kPanelWidth) {
        ScoreRowTiles<2>(row_panel, keys, sums);
      } else {
        ScoreRowTiles<1>(row_panel, keys, sums);
      }
      if (first_key >= interval.all_begin && end_key <= interval.all_end) {
        StoreTileWeights<false>(sums, row_panel, first_key, key_panel);
      } else {
        StoreTileWeights<true>(sums, row_panel, first_key, key_panel);
      }
    }
  }

  HWY_INLINE int64_t RowsOf(int64_t row_panel) const {
    return std::min<int64_t>(kRows, num_rows_ - row_panel * kRows);
  }

  template <int kRowTiles>
  HWY_INLINE void ScoreRowTiles(int64_t row_panel, const uint32_t* keys,
                                float (*sums)[2][kTileSums]) const {
    TileProduct<kRowTiles, 2> product;
    product.a_step = kTileElements;
    for (int p = 0; p < 2; ++p) product.b[p] = keys + p * steps_ * kTileSums;
    for (int t = 0; t < kRowTiles; ++t) {
      product.a[t] = QueryTiles(row_panel) + t * steps_ * kTileElements;
      for (int p = 0; p < 2; ++p) product.sums[t][p] = sums[t][p];
    }
    product.Multiply(steps_);
  }

  // A panel of keys as right tiles, zero past D.
  HWY_INLINE void KeyTiles(int key_panel, int first, int last, uint32_t* to) const {
    const bool exists = key_panel >= first && key_panel < last;
    const int64_t pairs = exists ? CeilDiv(dim_, 2) : 0;
    if (exists) PairRows(reinterpret_cast<const BF16*>(keys_[key_panel].data), dim_, to);
    std::fill(to + pairs * kPanelWidth, to + steps_ * kTileSums, 0u);
  }

  // The weights of the rows of a panel for two panels of keys as two left tiles, [32][32]: in the
  // first half of where the panel's weights would be in f32.
  HWY_INLINE BF16* WeightTiles(int64_t row_panel, int key_panel) const {
    return reinterpret_cast<BF16*>(Weights(row_panel, 0)) + key_panel / 2 * kRows * kTileK;
  }

  // Weights as they are multiplied (silu), or scores in f32 (softmax).
  template <bool kMasked>
  HWY_INLINE void StoreTileWeights(const float (*sums)[2][kTileSums], int64_t row_panel,
                                   int64_t first_key, int key_panel) const {
    const FloatTag d;
    const int64_t rows = RowsOf(row_panel);
    for (int64_t r = 0; r < rows; ++r) {
      for (int p = 0; p < 2; ++p) {
        const float* from = sums[r / kPanelWidth][p] + r % kPanelWidth * kPanelWidth;
        for (int i = 0; i < kPanelWidth; i += kLanes) {
          Floats value = hn::Mul(hn::LoadU(d, from + i), hn::Set(d, scale_));
          if constexpr (kKind == AttentionKind::kSilu) value = RoughSiluBase2(value);
          if constexpr (kMasked) {
            const int64_t key = first_key + p * kPanelWidth + i;
            value = OnlySeen(value, rows_[row_panel * kRows + r], key);
          }
          if constexpr (kKind == AttentionKind::kSilu) {
            BF16* to = WeightTiles(row_panel, key_panel) + r * kTileK;
            StoreRounded(value, to + p * kPanelWidth + i, All());
          } else {
            hn::StoreU(value, d, Weights(row_panel, key_panel + p) + r * kPanelWidth + i);
          }
        }
      }
    }
  }

  // The chunk's weights, in f32, to left tiles, which end before the f32 that are still to be read.
  HWY_INLINE void RoundTiles(int64_t base) const {
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const KeyInterval keys = InChunk(row_panel, base);
      for (int64_t key = keys.begin / kTileK * kTileK; key < keys.end; key += kTileK) {
        const auto key_panel = static_cast<int>(key / kPanelWidth);
        for (int64_t r = 0; r < RowsOf(row_panel); ++r) {
          BF16 row[kTileK];
          for (int p = 0; p < 2; ++p) {
            const float* from = Weights(row_panel, key_panel + p) + r * kPanelWidth;
            for (int i = 0; i < kPanelWidth; i += kLanes) {
              StoreRounded(Load(from + i, All()), row + p * kPanelWidth + i, All());
            }
          }
          std::copy_n(row, kTileK, WeightTiles(row_panel, key_panel) + r * kTileK);
        }
      }
    }
  }

  // chunk_out (softmax) or out (silu) += weights * V, for some panels of channels.
  template <int kChannels>
  HWY_INLINE void WeighTiles(int64_t base, int channel_panel, int first, int last) {
    auto* values = reinterpret_cast<uint32_t*>(expanded_);
    constexpr int64_t kChunkPairs = kKeyChunk / 2 * kPanelWidth;
    for (int p = 0; p < kChannels; ++p) {
      for (int panel = first / 2 * 2; panel < RoundUp(last, 2); ++panel) {
        uint32_t* to = values + p * kChunkPairs + panel * (kValuePanel / 2);
        if (panel < first || panel >= last) {
          std::fill_n(to, kValuePanel / 2, 0u);
        } else {
          PairValues(panel, channel_panel + p, {seen_.begin - base, seen_.end - base}, to);
        }
      }
    }
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const KeyInterval keys = InChunk(row_panel, base);
      if (keys.begin >= keys.end) continue;
      const KeyInterval steps{keys.begin / kTileK, CeilDiv(keys.end, kTileK)};
      alignas(64) float sums[2][kChannels][kTileSums];
      if (RowsOf(row_panel) > kPanelWidth) {
        WeighRowTiles<2, kChannels>(row_panel, steps, values, sums);
      } else {
        WeighRowTiles<1, kChannels>(row_panel, steps, values, sums);
      }
      for (int64_t r = 0; r < RowsOf(row_panel); ++r) {
        const int64_t row = row_panel * kRows + r;
        for (int p = 0; p < kChannels; ++p) {
          AddSums(sums[r / kPanelWidth][p] + r % kPanelWidth * kPanelWidth,
                  row * padded_dim_ + (channel_panel + p) * kPanelWidth);
        }
      }
    }
  }

  template <int kRowTiles, int kChannels>
  HWY_INLINE void WeighRowTiles(int64_t row_panel, KeyInterval steps, const uint32_t* values,
                                float (*sums)[kChannels][kTileSums]) const {
    TileProduct<kRowTiles, kChannels> product;
    product.a_step = kRows * kTileK;
    for (int p = 0; p < kChannels; ++p) {
      product.b[p] = values + p * (kKeyChunk / 2 * kPanelWidth) + steps.begin * kTileSums;
    }
    for (int t = 0; t < kRowTiles; ++t) {
      product.a[t] = WeightTiles(row_panel, static_cast<int>(2 * steps.begin)) + t * kTileElements;
      for (int p = 0; p < kChannels; ++p) product.sums[t][p] = sums[t][p];
    }
    product.Multiply(steps.end - steps.begin);
  }

  // chunk_out (softmax) = 16 sums, or out (silu) += them.
  HWY_INLINE void AddSums(const float* sums, int64_t element) const {
    const FloatTag d;
    float* to = (kKind == AttentionKind::kSoftmax ? chunk_out_ : out_) + element;
    for (int i = 0; i < kPanelWidth; i += kLanes) {
      Floats sum = hn::LoadU(d, sums + i);
      if constexpr (kKind == AttentionKind::kSilu) sum = hn::Add(hn::LoadU(d, to + i), sum);
      hn::StoreU(sum, d, to + i);
    }
  }

  // Without a weight (silu), or -infinity as the score (softmax), where the row sees no key.
  static HWY_INLINE Floats OnlySeen(Floats value, KeyInterval keys, int64_t first_key) {
    const auto seen = Seen(keys, first_key);
    if constexpr (kKind == AttentionKind::kSilu) return hn::IfThenElseZero(seen, value);
    const Floats hidden = hn::Set(FloatTag(), -std::numeric_limits<float>::infinity());
    return hn::IfThenElse(seen, value, hidden);
  }

  // The lanes, keys from first_key on, that are in the interval.
  static HWY_INLINE hn::Mask<FloatTag> Seen(KeyInterval keys, int64_t first_key) {
    const FloatTag d;
    const auto limit = [&](int64_t key) {
      return static_cast<float>(std::clamp<int64_t>(key - first_key, 0, kLanes));
    };
    const Floats lane = hn::Iota(d, 0.0f);
    return hn::And(hn::Ge(lane, hn::Set(d, limit(keys.begin))),
                   hn::Lt(lane, hn::Set(d, limit(keys.end))));
  }

  // The keys of the chunk at `base` that some row of the panel sees, counted from `base`.
  HWY_INLINE KeyInterval InChunk(int64_t row_panel, int64_t base) const {
    const PanelInterval& interval = intervals_[row_panel];
    return {std::max<int64_t>(interval.begin - base, 0),
            std::min<int64_t>(interval.end - base, kKeyChunk)};
  }

  // The values of a panel of keys in a panel of channels, as pairs of keys [8, 16]; those of keys
  // outside `seen`, counted from the chunk's base, are 0, as their weights are.
  HWY_INLINE void PairValues(int key_panel, int64_t channel_panel, KeyInterval seen,
                             uint32_t* pairs) const {
    const int64_t channel_stride = args_.layout.page_tokens * kPanelWidth;
    const auto* from =
        reinterpret_cast<const BF16*>(values_[key_panel].From(channel_panel * channel_stride).data);
    const int64_t begin = seen.begin - key_panel * kPanelWidth;
    const int64_t end = seen.end - key_panel * kPanelWidth;
    if (begin <= 0 && end >= kPanelWidth) {
      PairRows(from, kPanelWidth, pairs);
      return;
    }
    BF16 edge[kValuePanel] = {};
    const int64_t first = std::max<int64_t>(begin, 0) * kPanelWidth;
    std::copy(from + first, from + std::min<int64_t>(end, kPanelWidth) * kPanelWidth, edge + first);
    PairRows(edge, kPanelWidth, pairs);
  }

  // [16, 16], or pairs.
  HWY_INLINE const Factor* Values(int key_panel, int64_t channel_panel, KeyInterval seen,
                                  float* room) const {
    if constexpr (kPairs) {
      auto* pairs = reinterpret_cast<uint32_t*>(room);
      PairValues(key_panel, channel_panel, seen, pairs);
      return pairs;
    } else {
      const int64_t channel_stride = args_.layout.page_tokens * kPanelWidth;
      return values_[key_panel].From(channel_panel * channel_stride).AsFloats(kValuePanel, room);
    }
  }

  // The chunk's weights as pairs of keys, each row's 16 in the first half of where they were.
  HWY_INLINE void RoundWeights(int64_t base) {
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const KeyInterval keys = InChunk(row_panel, base);
      for (int64_t panel = keys.begin / kPanelWidth; panel * kPanelWidth < keys.end; ++panel) {
        float* weights = Weights(row_panel, static_cast<int>(panel));
        for (int r = 0; r < kRows; ++r) {
          float* row = weights + r * kPanelWidth;
          auto* rounded = reinterpret_cast<BF16*>(row);
          for (int i = 0; i < kPanelWidth; i += kLanes) {
            Store(hn::LoadU(FloatTag(), row + i), rounded + i, All());
          }
        }
      }
    }
  }

  // The values of a panel of keys, from `entry` on, in some panels of channels.
  template <int kChannels>
  HWY_INLINE StepsAhead<kChannels> ValuesOf(int key_panel, int channel_panel, int64_t entry) const {
    const int64_t channel_stride = args_.layout.page_tokens * kPanelWidth;
    StepsAhead<kChannels> values;
    values.step_bytes = StepBytes(key_panel);
    for (int p = 0; p < kChannels; ++p) {
      values.data[p] =
          values_[key_panel].From((channel_panel + p) * channel_stride + entry * kPanelWidth).data;
    }
    return values;
  }

  // chunk_out (softmax) or out (silu) += weights * V, for some panels of channels.
  template <int kChannels>
  HWY_INLINE void WeighValues(int64_t base, int channel_panel, int first, int last) {
    // A step of a tile is one key, or two.
    constexpr int kStepKeys = kPairs ? 2 : 1;
    const Factor* values[kKeyPanels][kChannels];
    const KeyInterval seen{seen_.begin - base, seen_.end - base};
    for (int key_panel = first; key_panel < last; ++key_panel) {
      for (int p = 0; p < kChannels; ++p) {
        values[key_panel][p] =
            Values(key_panel, channel_panel + p, seen,
                   expanded_ + (p * kKeyPanels + key_panel) * (kValuePanel / kStepKeys));
      }
    }
    const bool asks = channel_panel + 2 * kChannels <= args_.layout.ValuePanels();
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      KeyInterval keys = InChunk(row_panel, base);
      if (keys.begin >= keys.end) continue;
      keys = {keys.begin / kStepKeys * kStepKeys, RoundUp(keys.end, kStepKeys)};
      Tile<kRows, kChannels> tile;
      tile.SetZero();
      for (int64_t key = keys.begin; key < keys.end;) {
        const int key_panel = static_cast<int>(key / kPanelWidth);
        const int64_t entry = key % kPanelWidth;
        const int64_t count = std::min<int64_t>(kPanelWidth - entry, keys.end - key);
        Panels<kChannels> b;
        for (int p = 0; p < kChannels; ++p) {
          b.data[p] = values[key_panel][p] + entry / kStepKeys * kPanelWidth;
        }
        const Factor* weights =
            reinterpret_cast<const Factor*>(Weights(row_panel, key_panel)) + entry / kStepKeys;
        const int64_t steps = count / kStepKeys;
        if (asks && row_panel == row_panels_ - 1) {
          const StepsAhead<kChannels> ahead =
              ValuesOf<kChannels>(key_panel, channel_panel + kChannels, entry);
          tile.template MultiplyAdd<1, kPanelWidth>(weights, b, steps, ahead);
        } else {
          tile.template MultiplyAdd<1, kPanelWidth>(weights, b, steps);
        }
        key += count;
      }
      AddTile(tile, row_panel, channel_panel);
    }
  }

  // chunk_out (softmax) = the tile, or out (silu) += the tile.
  template <int kChannels>
  HWY_INLINE void AddTile(const Tile<kRows, kChannels>& tile, int64_t row_panel,
                          int channel_panel) {
    const FloatTag d;
    const int64_t rows = std::min<int64_t>(kRows, num_rows_ - row_panel * kRows);
    float* to = (kKind == AttentionKind::kSoftmax ? chunk_out_ : out_) +
                row_panel * kRows * padded_dim_ + channel_panel * kPanelWidth;
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) break;
      HWY_UNROLL(8)
      for (int v = 0; v < Tile<kRows, kChannels>::kVectors; ++v) {
        Floats sum = tile.sum[r][v];
        if constexpr (kKind == AttentionKind::kSilu) {
          sum = hn::Add(hn::LoadU(d, to + v * kLanes), sum);
        }
        hn::StoreU(sum, d, to + v * kLanes);
      }
      to += padded_dim_;
    }
  }

  // The same for the rows of one panel, page by page, so that memory is read in order: between
  // pages the sums wait, each goes on as the same chain of multiply-adds.
  HWY_INLINE void WeighPages(int64_t base) {
    const KeyInterval keys = InChunk(0, base);
    std::fill_n(page_sums_, kRows * padded_dim_, 0.0f);
    for (int64_t key = keys.begin; key < keys.end;) {
      const int64_t page = args_.layout.page_tokens;
      const KeyInterval part{key, std::min(keys.end, (key / page + 1) * page)};
      WithKvDType(values_[key / kPanelWidth].dtype, [&](auto constant) HWY_ATTR {
        WeighPage<decltype(constant)::value>(part, keys.end);
      });
      key = part.end;
    }
  }

  template <KvDType kDType>
  HWY_INLINE void WeighPage(KeyInterval keys, int64_t end) {
    const int value_panels = static_cast<int>(args_.layout.ValuePanels());
    int channel = 0;
    for (; channel + kPanels <= value_panels; channel += kPanels) {
      WeighChannels<kDType, kPanels>(keys, end, channel);
    }
    for (; channel < value_panels; ++channel) WeighChannels<kDType, 1>(keys, end, channel);
  }

  // `end`: of the chunk's keys.
  template <KvDType kDType, int kChannels>
  HWY_INLINE void WeighChannels(KeyInterval keys, int64_t end, int channel_panel) {
    Tile<kRows, kChannels> tile;
    float* sums = page_sums_ + channel_panel * kPanelWidth;
    tile.Load(sums, padded_dim_);
    const int64_t channel_stride = args_.layout.page_tokens * kPanelWidth;
    // The channels that come next, or those of the next page.
    const bool last = channel_panel + kChannels >= args_.layout.ValuePanels();
    const int64_t next = last ? (keys.end < end ? keys.end : keys.begin) : keys.begin;
    const int next_channel = last ? 0 : channel_panel + kChannels;
    for (int64_t key = keys.begin; key < keys.end;) {
      const int64_t entry = key % kPanelWidth;
      const int64_t count = std::min<int64_t>(kPanelWidth - entry, keys.end - key);
      PagePanels<kDType, kChannels> b;
      for (int p = 0; p < kChannels; ++p) {
        b.Set(p, values_[key / kPanelWidth].From((channel_panel + p) * channel_stride +
                                                 entry * kPanelWidth));
      }
      const StepsAhead<kChannels> ahead =
          ValuesOf<kChannels>(static_cast<int>(next / kPanelWidth), next_channel, key - keys.begin);
      tile.template MultiplyAdd<1, kPanelWidth>(
          Weights(0, static_cast<int>(key / kPanelWidth)) + entry, b, count, ahead);
      key += count;
    }
    if (keys.end == end) {
      AddTile(tile, 0, channel_panel);
    } else {
      tile.Store(sums, padded_dim_);
    }
  }

  // Turns the chunk's scores into weights relative to each row's largest.
  HWY_INLINE void SoftmaxChunk(int64_t base) {
    for (int64_t row = 0; row < num_rows_; ++row) {
      const KeyInterval keys = InChunk(row / kRows, base);
      if (keys.begin >= keys.end) {
        chunk_softmax_[row] = {};
        continue;
      }
      // Whole products: scores of keys that no row sees are -infinity.
      constexpr int64_t kKeys = std::max(kPanelWidth, ProductDepth(kProducts));
      const int first = static_cast<int>(keys.begin / kKeys * kKeys / kPanelWidth);
      const int last = static_cast<int>(RoundUp(keys.end, kKeys) / kPanelWidth);
      float* scores = Weights(row / kRows, 0) + row % kRows * kPanelWidth;
      chunk_softmax_[row] = SoftmaxRow(scores, kRows * kPanelWidth, first, last);
    }
  }

  // Scores of panels [first, last), `stride` floats apart, become weights in place.
  static HWY_INLINE SoftmaxSum SoftmaxRow(float* scores, int64_t stride, int first, int last) {
    const FloatTag d;
    Floats tops = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int panel = first; panel < last; ++panel) {
      for (int i = 0; i < kPanelWidth; i += kLanes) {
        tops = hn::Max(tops, hn::LoadU(d, scores + panel * stride + i));
      }
    }
    const float top = hn::GetLane(hn::MaxOfLanes(d, tops));
    // A row of the panel that sees nothing here: all of its scores are -infinity, its weights 0.
    const Floats subtract = hn::Set(d, top == -std::numeric_limits<float>::infinity() ? 0.0f : top);
    Floats totals = hn::Zero(d);
    for (int panel = first; panel < last; ++panel) {
      for (int i = 0; i < kPanelWidth; i += kLanes) {
        float* at = scores + panel * stride + i;
        const Floats weight = Exp2(hn::Sub(hn::LoadU(d, at), subtract));
        totals = hn::Add(totals, weight);
        hn::StoreU(weight, d, at);
      }
    }
    return {top, hn::GetLane(hn::SumOfLanes(d, totals))};
  }

  HWY_INLINE void JoinChunk(const float* sums, const SoftmaxSum* softmax) {
    for (int64_t row = 0; row < num_rows_; ++row) {
      JoinRow(row, sums + row * padded_dim_, Join(softmax[row], &softmax_[row]));
    }
  }

  // out[row] = out[row] * keep + sums * take
  HWY_INLINE void JoinRow(int64_t row, const float* sums, Rescale rescale) {
    if (rescale.take == 0.0f) return;  // sums may hold anything
    const FloatTag d;
    float* out = out_ + row * padded_dim_;
    const Floats keep = hn::Set(d, rescale.keep);
    const Floats take = hn::Set(d, rescale.take);
    for (int64_t i = 0; i < padded_dim_; i += kLanes) {
      const Floats kept = hn::Mul(hn::LoadU(d, out + i), keep);
      hn::StoreU(hn::MulAdd(hn::LoadU(d, sums + i), take, kept), d, out + i);
    }
  }

  // out += a chunk's part, as AddTile does.
  HWY_INLINE void AddPart(const float* part) {
    const FloatTag d;
    for (int64_t i = 0; i < num_rows_ * padded_dim_; i += kLanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, out_ + i), hn::LoadU(d, part + i)), d, out_ + i);
    }
  }

  // What comes after history: each candidate's own group, and the result.
  HWY_INLINE void Finish() {
    for (int64_t row = 0; row < num_rows_; ++row) {
      const int64_t candidate = args_.position + row - args_.mask.history_end;
      if (candidate >= 0) AddGroup(row, candidate);
    }
    WithElement(args_.out.dtype, [&](auto element) HWY_ATTR { WriteOut<decltype(element)>(); });
  }

  // The candidates of its own group that `row`, itself candidate number `candidate`, sees.
  HWY_INLINE void AddGroup(int64_t row, int64_t candidate) {
    const int64_t group = args_.mask.GroupBegin(candidate);
    for (int64_t begin = group; begin <= candidate; begin += kKeyChunk) {
      AddGroupChunk(row, begin, std::min<int64_t>(candidate + 1, begin + kKeyChunk));
    }
  }

  HWY_INLINE void AddGroupChunk(int64_t row, int64_t begin, int64_t end) {
    const FloatTag d;
    const int64_t padded = RoundUp(end - begin, kPanelWidth);
    std::fill_n(weights_ + (end - begin), padded - (end - begin),
                -std::numeric_limits<float>::infinity());
    const float* q = Query(row);
    for (int64_t key = begin; key < end; ++key) {
      weights_[key - begin] = Dot(q, RowAsFloats(args_.group_k, key, k_row_)) * scale_;
    }
    Rescale rescale{1.0f, 1.0f};
    if constexpr (kKind == AttentionKind::kSilu) {
      for (int64_t i = 0; i < padded; i += kLanes) {
        hn::StoreU(SiluBase2(hn::LoadU(d, weights_ + i)), d, weights_ + i);
      }
    } else {
      rescale = Join(SoftmaxRow(weights_, kPanelWidth, 0, static_cast<int>(padded / kPanelWidth)),
                     &softmax_[row]);
    }
    std::fill_n(group_sums_, padded_dim_, 0.0f);
    for (int64_t key = begin; key < end; ++key) {
      const Floats weight = hn::Set(d, weights_[key - begin]);
      const float* v = RowAsFloats(args_.group_v, key, v_row_);
      ForVectors(dim_, [&](int64_t i, auto lanes) HWY_ATTR {
        Store(hn::MulAdd(weight, Load(v + i, lanes), Load(group_sums_ + i, lanes)), group_sums_ + i,
              lanes);
      });
    }
    JoinRow(row, group_sums_, rescale);
  }

  HWY_INLINE float Dot(const float* a, const float* b) const {
    const FloatTag d;
    Floats sum = hn::Zero(d);
    ForVectors(dim_, [&](int64_t i, auto lanes) HWY_ATTR {
      sum = hn::MulAdd(Load(a + i, lanes), Load(b + i, lanes), sum);
    });
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  template <class T>
  HWY_INLINE void WriteOut() {
    for (int64_t row = 0; row < num_rows_; ++row) {
      const Floats factor =
          hn::Set(FloatTag(), kKind == AttentionKind::kSilu ? kLn2 / args_.scaling_seqlen
                                                            : 1.0f / softmax_[row].total);
      const float* from = out_ + row * padded_dim_;
      T* to = row < args_.q.rows ? args_.out.RowAs<T>(row)
                                 : args_.out_after.RowAs<T>(row - args_.q.rows);
      ForVectors(dim_, [&](int64_t i, auto lanes) HWY_ATTR {
        Store(hn::Mul(Load(from + i, lanes), factor), to + i, lanes);
      });
    }
  }

  const HstuAttentionArgs& args_;
  const int64_t dim_;
  const int64_t padded_dim_;
  const int64_t num_rows_;
  const int64_t row_panels_;
  const int64_t steps_;  // of a score: D, or pairs of them
  const float scale_;
  float* const q_;           // [row panel][steps][kRows]
  float* const weights_;     // [row panel][key panel][kRows][16]
  float* out_;               // [row][padded D]
  float* chunk_out_;         // [row][padded D], of the running chunk where it must be rescaled
  float* const page_sums_;   // [kRows][padded D]
  float* const group_sums_;  // [padded D]
  float* const q_row_;       // [D]
  float* const k_row_;       // [D]
  float* const v_row_;       // [D]
  float* const expanded_;    // elements made f32, where they are not
  KeyInterval seen_;
  PageElements keys_[kKeyPanels];
  PageElements values_[kKeyPanels];
  PanelInterval intervals_[kMaxRowPanels];
  KeyInterval rows_[kQueryBlock];
  SoftmaxSum softmax_[kQueryBlock];
  SoftmaxSum chunk_softmax_[kQueryBlock];
};

// Calls body with the block that fits the rows.
template <AttentionKind kKind, Products kProducts, class Body>
HWY_INLINE void WithTile(const HstuAttentionArgs& args, const Body& body) {
  if constexpr (kProducts == Products::kBF16Tiles) {
    const TileRegisters registers;
    AttentionBlock<kKind, kProducts, kTileBlockRows, 2> block(args);
    body(&block);
  } else if (args.rows() <= kFewTileRows) {
    AttentionBlock<kKind, kProducts, kFewTileRows, kFewTilePanels> block(args);
    body(&block);
  } else {
    AttentionBlock<kKind, kProducts, kTileRows, kTilePanels> block(args);
    body(&block);
  }
}

template <class Body>
HWY_INLINE void WithBlock(const HstuAttentionArgs& args, const Body& body) {
  WithProducts(args.products, [&](auto products) HWY_ATTR {
    if (args.kind == AttentionKind::kSilu) {
      WithTile<AttentionKind::kSilu, decltype(products)::value>(args, body);
    } else {
      WithTile<AttentionKind::kSoftmax, decltype(products)::value>(args, body);
    }
  });
}

HWY_INLINE void HstuAttentionBody(const HstuAttentionArgs& args) {
  WithBlock(args, [](auto* block) HWY_ATTR { block->Run(); });
}

HWY_INLINE void HstuAttentionChunkBody(const HstuAttentionArgs& args, int64_t chunk, float* part) {
  WithBlock(args, [&](auto* block) HWY_ATTR { block->RunChunk(chunk, part); });
}

HWY_INLINE void HstuAttentionJoinBody(const HstuAttentionArgs& args, int64_t chunks,
                                      const float* parts) {
  WithBlock(args, [&](auto* block) HWY_ATTR { block->RunJoin(chunks, parts); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_HSTU_ATTENTION_INL_H_
