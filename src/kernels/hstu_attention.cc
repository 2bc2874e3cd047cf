#include "kernels/hstu_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hstu_attention.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/math-inl.h"
#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

constexpr int kKeyPanels = kKeyChunk / kPanelWidth;
constexpr int kMaxRowPanels = static_cast<int>(kQueryBlock) / kTileRows;
constexpr int kPanelFloats = kTileRows * kPanelWidth;  // of one tile of scores

// The keys that the rows of one panel see: some row sees [begin, end), every row
// [all_begin, all_end).
struct PanelInterval {
  int64_t begin, end, all_begin, all_end;
};

// How a chunk's sum joins what came before: out = out * keep + chunk * take.
struct Rescale {
  float keep, take;
};

// The online softmax of one row: the largest score and the sum of weights relative to it.
struct RowSoftmax {
  float top = -std::numeric_limits<float>::infinity();
  float total = 0.0f;

  static HWY_INLINE float Exp2Scalar(float x) {
    const FloatTag d;
    return hn::GetLane(Exp2(hn::Set(d, x)));
  }

  // `chunk_total` is relative to `chunk_top`; 0 where the row saw nothing.
  HWY_INLINE Rescale Join(float chunk_top, float chunk_total) {
    if (chunk_total == 0.0f) return {1.0f, 0.0f};
    const float joined = std::max(top, chunk_top);
    const Rescale rescale{Exp2Scalar(top - joined), Exp2Scalar(chunk_top - joined)};
    total = total * rescale.keep + chunk_total * rescale.take;
    top = joined;
    return rescale;
  }
};

template <AttentionKind kKind>
class AttentionBlock {
 public:
  HWY_INLINE explicit AttentionBlock(const HstuAttentionArgs& args)
      : args_(args),
        dim_(args.layout.dim),
        padded_dim_(args.layout.ValuePanels() * kPanelWidth),
        row_panels_(CeilDiv(args.q.rows, kTileRows)),
        scale_(kLog2E / std::sqrt(static_cast<float>(dim_))),
        q_(args.scratch),
        weights_(q_ + kQueryBlock * padded_dim_),
        out_(weights_ + kQueryBlock * kKeyChunk),
        chunk_out_(out_ + kQueryBlock * padded_dim_) {
    std::fill_n(out_, args.q.rows * padded_dim_, 0.0f);
    PackQueries();
    FindIntervals();
  }

  HWY_INLINE void Run() {
    for (int64_t chunk = seen_.begin / kKeyChunk; chunk * kKeyChunk < seen_.end; ++chunk) {
      AddChunk(chunk * kKeyChunk);
    }
    for (int64_t row = 0; row < args_.q.rows; ++row) {
      const int64_t candidate = args_.position + row - args_.mask.history_end;
      if (candidate >= 0) AddGroup(row, candidate);
    }
    WriteOut();
  }

 private:
  // q -> [panel][D][kTileRows], scaled so that the score is in base 2. Rows past the end repeat the
  // panel's first.
  HWY_INLINE void PackQueries() {
    for (int64_t row = 0; row < row_panels_ * kTileRows; ++row) {
      const float* from = args_.q.Row(SourceRow(row));
      float* to = q_ + row / kTileRows * kTileRows * dim_ + row % kTileRows;
      for (int64_t i = 0; i < dim_; ++i) to[i * kTileRows] = from[i] * scale_;
    }
  }

  HWY_INLINE int64_t SourceRow(int64_t row) const {
    return row < args_.q.rows ? row : row / kTileRows * kTileRows;
  }

  HWY_INLINE void FindIntervals() {
    seen_ = {std::numeric_limits<int64_t>::max(), 0};
    for (int64_t panel = 0; panel < row_panels_; ++panel) {
      PanelInterval& interval = intervals_[panel];
      interval = {std::numeric_limits<int64_t>::max(), 0, 0, std::numeric_limits<int64_t>::max()};
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t row = panel * kTileRows + r;
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

  HWY_INLINE void AddChunk(int64_t base) {
    const int64_t begin = std::max(seen_.begin, base) - base;
    const int64_t end = std::min<int64_t>(seen_.end, base + kKeyChunk) - base;
    const int first = static_cast<int>(begin / kPanelWidth);
    const int last = static_cast<int>(CeilDiv(end, kPanelWidth));
    FindKeyPanels(base, first, last);
    int panel = first;
    for (; panel + kTilePanels <= last; panel += kTilePanels) ScorePanels<kTilePanels>(base, panel);
    for (; panel < last; ++panel) ScorePanels<1>(base, panel);
    if constexpr (kKind == AttentionKind::kSoftmax) SoftmaxChunk(base);
    const int value_panels = static_cast<int>(args_.layout.ValuePanels());
    int channel = 0;
    for (; channel + kTilePanels <= value_panels; channel += kTilePanels) {
      WeighValues<kTilePanels>(base, channel);
    }
    for (; channel < value_panels; ++channel) WeighValues<1>(base, channel);
    if constexpr (kKind == AttentionKind::kSoftmax) JoinChunk();
  }

  HWY_INLINE void FindKeyPanels(int64_t base, int first, int last) {
    const KvPageLayout& layout = args_.layout;
    for (int panel = first; panel < last; ++panel) {
      const int64_t position = base + panel * kPanelWidth;
      const int64_t entry = position % layout.page_tokens;
      keys_[panel] =
          args_.history.KeyPage(position, layout) + layout.KeyPanelOffset(args_.head, entry);
      values_[panel] =
          args_.history.ValuePage(position, layout) + layout.ValueRowOffset(args_.head, 0, entry);
    }
  }

  HWY_INLINE float* Weights(int64_t row_panel, int key_panel) const {
    return weights_ + (row_panel * kKeyPanels + key_panel) * kPanelFloats;
  }

  // Scores (softmax) or weights (silu) of all rows that see something of these key panels.
  template <int kPanels>
  HWY_INLINE void ScorePanels(int64_t base, int key_panel) {
    const float* b[kPanels];
    for (int p = 0; p < kPanels; ++p) b[p] = keys_[key_panel + p];
    const int64_t first_key = base + key_panel * kPanelWidth;
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const PanelInterval& interval = intervals_[row_panel];
      if (first_key >= interval.end || first_key + kPanels * kPanelWidth <= interval.begin) {
        continue;
      }
      Tile<kPanels> tile;
      tile.SetZero();
      tile.template MultiplyAdd<kTileRows, 1>(q_ + row_panel * kTileRows * dim_, b, dim_);
      float* weights = Weights(row_panel, key_panel);
      if (first_key >= interval.all_begin &&
          first_key + kPanels * kPanelWidth <= interval.all_end) {
        StoreWeights<kPanels, false>(tile, rows_ + row_panel * kTileRows, first_key, weights);
      } else {
        StoreWeights<kPanels, true>(tile, rows_ + row_panel * kTileRows, first_key, weights);
      }
    }
  }

  template <int kPanels, bool kMasked>
  HWY_INLINE void StoreWeights(const Tile<kPanels>& tile, const KeyInterval* rows,
                               int64_t first_key, float* HWY_RESTRICT weights) {
    const FloatTag d;
    HWY_UNROLL(12)
    for (int r = 0; r < kTileRows; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < Tile<kPanels>::kVectors; ++v) {
        Floats value = tile.sum[r][v];
        if constexpr (kKind == AttentionKind::kSilu) value = SiluBase2(value);
        if constexpr (kMasked) {
          const auto seen = Seen(rows[r], first_key + v * kLanes);
          if constexpr (kKind == AttentionKind::kSilu) {
            value = hn::IfThenElseZero(seen, value);
          } else {
            value =
                hn::IfThenElse(seen, value, hn::Set(d, -std::numeric_limits<float>::infinity()));
          }
        }
        const int panel = v / kVectorsPerPanel;
        hn::StoreU(
            value, d,
            weights + panel * kPanelFloats + r * kPanelWidth + v % kVectorsPerPanel * kLanes);
      }
    }
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

  // chunk_out (softmax) or out (silu) += weights * V, for `kPanels` panels of channels.
  template <int kPanels>
  HWY_INLINE void WeighValues(int64_t base, int channel_panel) {
    const FloatTag d;
    const int64_t channel_stride = args_.layout.page_tokens * kPanelWidth;
    for (int64_t row_panel = 0; row_panel < row_panels_; ++row_panel) {
      const KeyInterval keys = InChunk(row_panel, base);
      if (keys.begin >= keys.end) continue;
      Tile<kPanels> tile;
      tile.SetZero();
      for (int64_t key = keys.begin; key < keys.end;) {
        const int key_panel = static_cast<int>(key / kPanelWidth);
        const int64_t entry = key % kPanelWidth;
        const int64_t count = std::min<int64_t>(kPanelWidth - entry, keys.end - key);
        const float* b[kPanels];
        for (int p = 0; p < kPanels; ++p) {
          b[p] = values_[key_panel] + (channel_panel + p) * channel_stride + entry * kPanelWidth;
        }
        tile.template MultiplyAdd<1, kPanelWidth>(Weights(row_panel, key_panel) + entry, b, count);
        key += count;
      }
      const int64_t rows = std::min<int64_t>(kTileRows, args_.q.rows - row_panel * kTileRows);
      float* to = (kKind == AttentionKind::kSoftmax ? chunk_out_ : out_) +
                  row_panel * kTileRows * padded_dim_ + channel_panel * kPanelWidth;
      HWY_UNROLL(12)
      for (int r = 0; r < kTileRows; ++r) {
        if (r >= rows) break;
        HWY_UNROLL(8)
        for (int v = 0; v < Tile<kPanels>::kVectors; ++v) {
          Floats sum = tile.sum[r][v];
          if constexpr (kKind == AttentionKind::kSilu)
            sum = hn::Add(hn::LoadU(d, to + v * kLanes), sum);
          hn::StoreU(sum, d, to + v * kLanes);
        }
        to += padded_dim_;
      }
    }
  }

  // Turns the chunk's scores into weights relative to each row's largest, and notes how the chunk
  // joins what came before.
  HWY_INLINE void SoftmaxChunk(int64_t base) {
    for (int64_t row = 0; row < args_.q.rows; ++row) {
      const KeyInterval keys = InChunk(row / kTileRows, base);
      if (keys.begin >= keys.end) {
        rescale_[row] = {1.0f, 0.0f};
        continue;
      }
      const int first = static_cast<int>(keys.begin / kPanelWidth);
      const int last = static_cast<int>(CeilDiv(keys.end, kPanelWidth));
      float* scores = Weights(row / kTileRows, 0) + row % kTileRows * kPanelWidth;
      rescale_[row] = SoftmaxRow(scores, kPanelFloats, first, last, &softmax_[row]);
    }
  }

  // Scores of panels [first, last), `stride` floats apart, become weights in place.
  static HWY_INLINE Rescale SoftmaxRow(float* scores, int64_t stride, int first, int last,
                                       RowSoftmax* softmax) {
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
    return softmax->Join(top, hn::GetLane(hn::SumOfLanes(d, totals)));
  }

  HWY_INLINE void JoinChunk() {
    for (int64_t row = 0; row < args_.q.rows; ++row) JoinRow(row, rescale_[row]);
  }

  // out[row] = out[row] * keep + chunk_out[row] * take
  HWY_INLINE void JoinRow(int64_t row, Rescale rescale) {
    if (rescale.take == 0.0f) return;  // chunk_out may hold anything
    const FloatTag d;
    float* out = out_ + row * padded_dim_;
    const float* chunk = chunk_out_ + row * padded_dim_;
    const Floats keep = hn::Set(d, rescale.keep);
    const Floats take = hn::Set(d, rescale.take);
    for (int64_t i = 0; i < padded_dim_; i += kLanes) {
      const Floats kept = hn::Mul(hn::LoadU(d, out + i), keep);
      hn::StoreU(hn::MulAdd(hn::LoadU(d, chunk + i), take, kept), d, out + i);
    }
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
    for (int64_t key = begin; key < end; ++key) weights_[key - begin] = Dot(row, key) * scale_;
    Rescale rescale{1.0f, 1.0f};
    if constexpr (kKind == AttentionKind::kSilu) {
      for (int64_t i = 0; i < padded; i += kLanes) {
        hn::StoreU(SiluBase2(hn::LoadU(d, weights_ + i)), d, weights_ + i);
      }
    } else {
      rescale = SoftmaxRow(weights_, kPanelWidth, 0, static_cast<int>(padded / kPanelWidth),
                           &softmax_[row]);
    }
    float* sums = chunk_out_ + row * padded_dim_;
    std::fill_n(sums, padded_dim_, 0.0f);
    for (int64_t key = begin; key < end; ++key) {
      const Floats weight = hn::Set(d, weights_[key - begin]);
      const float* v = args_.group_v.Row(key);
      for (int64_t i = 0; i < dim_; i += kLanes) {
        const Floats value = hn::MaskedLoad(hn::FirstN(d, dim_ - i), d, v + i);
        hn::StoreU(hn::MulAdd(weight, value, hn::LoadU(d, sums + i)), d, sums + i);
      }
    }
    JoinRow(row, rescale);
  }

  // q[row] . group_k[key]
  HWY_INLINE float Dot(int64_t row, int64_t key) const {
    const FloatTag d;
    const float* q = args_.q.Row(row);
    const float* k = args_.group_k.Row(key);
    Floats sum = hn::Zero(d);
    for (int64_t i = 0; i < dim_; i += kLanes) {
      const auto mask = hn::FirstN(d, dim_ - i);
      sum = hn::MulAdd(hn::MaskedLoad(mask, d, q + i), hn::MaskedLoad(mask, d, k + i), sum);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  HWY_INLINE void WriteOut() {
    const FloatTag d;
    for (int64_t row = 0; row < args_.q.rows; ++row) {
      const float factor =
          kKind == AttentionKind::kSilu ? kLn2 / args_.scaling_seqlen : 1.0f / softmax_[row].total;
      const float* from = out_ + row * padded_dim_;
      for (int64_t i = 0; i < dim_; i += kLanes) {
        const Floats value = hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor));
        hn::BlendedStore(value, hn::FirstN(d, dim_ - i), d, args_.out.Row(row) + i);
      }
    }
  }

  const HstuAttentionArgs& args_;
  const int64_t dim_;
  const int64_t padded_dim_;
  const int64_t row_panels_;
  const float scale_;
  float* const q_;          // [row panel][D][kTileRows]
  float* const weights_;    // [row panel][key panel][kTileRows][16]
  float* const out_;        // [row][padded D]
  float* const chunk_out_;  // [row][padded D], of the running chunk where it must be rescaled
  KeyInterval seen_;
  const float* keys_[kKeyPanels];
  const float* values_[kKeyPanels];
  PanelInterval intervals_[kMaxRowPanels];
  KeyInterval rows_[kQueryBlock];
  RowSoftmax softmax_[kQueryBlock];
  Rescale rescale_[kQueryBlock];
};

void HstuAttention(const HstuAttentionArgs& args) {
  if (args.kind == AttentionKind::kSilu) {
    AttentionBlock<AttentionKind::kSilu>(args).Run();
  } else {
    AttentionBlock<AttentionKind::kSoftmax>(args).Run();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(HstuAttention);

HstuAttentionFn* HstuAttentionFor(Isa isa) { return HSTU_DISPATCH(HstuAttention, isa); }

}  // namespace hstu
#endif  // HWY_ONCE
