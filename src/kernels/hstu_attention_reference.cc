// The scalar reference of hstu_attention: row by row, in double, keys read one at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "kernels/hstu_attention.h"

namespace hstu {
namespace {

// One row's attention: scores come in one by one, in any order for softmax's running maximum.
class RowSum {
 public:
  RowSum(const HstuAttentionArgs& args, int64_t row) : args_(args), q_(args.q.Row(row)) {}

  // k and v give channel i of one key.
  template <typename Key, typename Value>
  void Add(const Key& k, const Value& v, double* sums) {
    double dot = 0.0;
    for (int64_t i = 0; i < args_.layout.dim; ++i) dot += static_cast<double>(q_[i]) * k(i);
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
  const float* q_;
  double top_ = -std::numeric_limits<double>::infinity();
  double total_ = 0.0;
};

void AddHistory(const HstuAttentionArgs& args, int64_t position, RowSum* row, double* sums) {
  const KvPageLayout& layout = args.layout;
  const KeyInterval seen = args.mask.History(position);
  for (int64_t key = seen.begin; key < seen.end; ++key) {
    const int64_t entry = key % layout.page_tokens;
    const float* keys = args.history.KeyPage(key, layout) +
                        layout.KeyPanelOffset(args.head, entry) + entry % kPanelWidth;
    const float* values = args.history.ValuePage(key, layout);
    row->Add(
        [&](int64_t i) { return keys[i * kPanelWidth]; },
        [&](int64_t i) {
          return values[layout.ValueRowOffset(args.head, i / kPanelWidth, entry) + i % kPanelWidth];
        },
        sums);
  }
}

void AddGroup(const HstuAttentionArgs& args, int64_t candidate, RowSum* row, double* sums) {
  for (int64_t key = args.mask.GroupBegin(candidate); key <= candidate; ++key) {
    row->Add([&](int64_t i) { return args.group_k.Row(key)[i]; },
             [&](int64_t i) { return args.group_v.Row(key)[i]; }, sums);
  }
}

}  // namespace

void HstuAttentionPlain(const HstuAttentionArgs& args) {
  double* sums = new (static_cast<void*>(args.scratch)) double[args.layout.dim];
  for (int64_t i = 0; i < args.q.rows; ++i) {
    std::fill_n(sums, args.layout.dim, 0.0);
    RowSum row(args, i);
    const int64_t position = args.position + i;
    AddHistory(args, position, &row, sums);
    const int64_t candidate = position - args.mask.history_end;
    if (candidate >= 0) AddGroup(args, candidate, &row, sums);
    for (int64_t c = 0; c < args.layout.dim; ++c) {
      args.out.Row(i)[c] = static_cast<float>(sums[c] / row.Divisor());
    }
  }
}

}  // namespace hstu
