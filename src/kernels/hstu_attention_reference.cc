// The scalar reference of hstu_attention: row by row, in double, keys read one at a time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>

#include "kernels/hstu_attention.h"

namespace hstu {
namespace {

// q of one row.
float QueryAt(const HstuAttentionArgs& args, int64_t row, int64_t i) {
  return row < args.q.rows ? args.q.At(row, i) : args.q_after.At(row - args.q.rows, i);
}

// One row's attention: scores come in one by one, in any order for softmax's running maximum.
class RowSum {
 public:
  RowSum(const HstuAttentionArgs& args, int64_t row) : args_(args), row_(row) {}

  // k and v give channel i of one key.
  template <typename Key, typename Value>
  void Add(const Key& k, const Value& v, double* sums) {
    double dot = 0.0;
    for (int64_t i = 0; i < args_.layout.dim; ++i)
      dot += static_cast<double>(QueryAt(args_, row_, i)) * k(i);
    const double score = dot / std::sqrt(static_cast<double>(args_.layout.dim));
    double weight = score / (1.0 + std::exp(-score)) / args_.scaling_seqlen;
    if (args_.kind == AttentionKind::kSoftmax) {
      const double top = std::max(top_, score);
      const double shrink = std::exp(top_ - top);
      for (int64_t i = 0; i < args_.layout.dim; ++i) sums[i] *= shrink;
      weight = std::exp(score - top);
      total_ = total_ * shrink + weight;
      top_ = top;
    }
    for (int64_t i = 0; i < args_.layout.dim; ++i) sums[i] += weight * v(i);
  }

  double Divisor() const { return args_.kind == AttentionKind::kSoftmax ? total_ : 1.0; }

 private:
  const HstuAttentionArgs& args_;
  int64_t row_;
  double top_ = -std::numeric_limits<double>::infinity();
  double total_ = 0.0;
};

// An element of a page.
float PageElement(const KvPageLayout& layout, const std::byte* page, int64_t elements, int64_t head,
                  int64_t index) {
  const std::byte* at = page + index * SizeOf(layout.dtype);
  switch (layout.dtype) {
    case KvDType::kF32:
      return LoadFloat(DType::kF32, at);
    case KvDType::kBF16:
      return LoadFloat(DType::kBF16, at);
    case KvDType::kF16:
      return LoadFloat(DType::kF16, at);
    case KvDType::kInt8:
      return static_cast<float>(static_cast<int8_t>(*at)) * layout.Scales(page, elements)[head];
  }
  return 0.0f;
}

void AddHistory(const HstuAttentionArgs& args, int64_t position, RowSum* row, double* sums) {
  const KeyInterval seen = args.mask.History(position);
  for (int64_t key = seen.begin; key < seen.end; ++key) {
    const bool own = key / args.layout.page_tokens == args.own.index;
    const KvPageLayout layout = own ? args.layout.As(KvDType::kF32) : args.layout;
    const int64_t entry = key % layout.page_tokens;
    const std::byte* keys = own ? args.own.keys : args.history.KeyPage(key, layout);
    const std::byte* values = own ? args.own.values : args.history.ValuePage(key, layout);
    const int64_t first = layout.KeyPanelOffset(args.head, entry) + entry % kPanelWidth;
    row->Add(
        [&](int64_t i) {
          return PageElement(layout, keys, layout.KeyPageElements(), args.head,
                             first + i * kPanelWidth);
        },
        [&](int64_t i) {
          return PageElement(
              layout, values, layout.ValuePageElements(), args.head,
              layout.ValueRowOffset(args.head, i / kPanelWidth, entry) + i % kPanelWidth);
        },
        sums);
  }
}

void AddGroup(const HstuAttentionArgs& args, int64_t candidate, RowSum* row, double* sums) {
  for (int64_t key = args.mask.GroupBegin(candidate); key <= candidate; ++key) {
    row->Add([&](int64_t i) { return args.group_k.At(key, i); },
             [&](int64_t i) { return args.group_v.At(key, i); }, sums);
  }
}

}  // namespace

void HstuAttentionPlain(const HstuAttentionArgs& args) {
  double* sums = new (static_cast<void*>(args.scratch)) double[args.layout.dim];
  for (int64_t i = 0; i < args.rows(); ++i) {
    std::fill_n(sums, args.layout.dim, 0.0);
    RowSum row(args, i);
    const int64_t position = args.position + i;
    AddHistory(args, position, &row, sums);
    const int64_t candidate = position - args.mask.history_end;
    if (candidate >= 0) AddGroup(args, candidate, &row, sums);
    for (int64_t c = 0; c < args.layout.dim; ++c) {
      const auto value = static_cast<float>(sums[c] / row.Divisor());
      if (i < args.q.rows) {
        args.out.Set(i, c, value);
      } else {
        args.out_after.Set(i - args.q.rows, c, value);
      }
    }
  }
}

}  // namespace hstu
