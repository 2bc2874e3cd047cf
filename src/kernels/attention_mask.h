// Which tokens a row may attend to: an interval of history, and earlier candidates of its group.
#ifndef HSTU_KERNELS_ATTENTION_MASK_H_
#define HSTU_KERNELS_ATTENTION_MASK_H_

#include <algorithm>
#include <cstdint>

namespace hstu {

struct KeyInterval {
  int64_t begin;
  int64_t end;
};

// Positions count from the start of the user's sequence: contextual tokens, then history, up to
// `history_end`; candidates follow from there.
struct AttentionMask {
  int64_t history_begin = 0;  // the oldest position kept
  int64_t history_end = 0;
  int64_t num_context = 0;
  int64_t window = 0;  // max_attn_len; 0: no limit
  int64_t group = 1;   // target_group_size
  bool contextual_mask = false;

  // The history that the row at `position` sees, itself included.
  KeyInterval History(int64_t position) const {
    if (contextual_mask && position < num_context) return {history_begin, history_end};
    const int64_t end = std::min(position + 1, history_end);
    if (window == 0) return {history_begin, end};
    return {std::max(history_begin, std::min(position, history_end) - window), end};
  }

  // The first candidate, counted from the first of all, that candidate `index` sees; the last is
  // itself.
  int64_t GroupBegin(int64_t index) const { return index / group * group; }
};

}  // namespace hstu

#endif  // HSTU_KERNELS_ATTENTION_MASK_H_
