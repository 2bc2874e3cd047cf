// Operator hstu_attention: SiLU or softmax attention over pages of K and V, no score matrix in
// memory, tiles that the mask hides skipped.
#ifndef HSTU_KERNELS_HSTU_ATTENTION_H_
#define HSTU_KERNELS_HSTU_ATTENTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/attention_kind.h"
#include "kernels/attention_mask.h"
#include "kernels/gemm.h"
#include "kernels/kv_blocks.h"
#include "tensor/view.h"

namespace hstu {

// Rows that one call computes at most.
inline constexpr int64_t kQueryBlock = 96;
// Rows that it had best compute: a block in f32 stays nearer, but where pages are made f32 first,
// more rows share that.
constexpr int64_t QueryBlockRows(KvDType dtype) {
  return dtype == KvDType::kF32 ? kQueryBlock / 2 : kQueryBlock;
}

// With int8 pages: the page that the rows themselves stand in (candidates: the one that the next
// history token would be in), which they read in f32. Rows of one call share it.
struct OwnPage {
  int64_t index = -1;                 // position / page_tokens
  const std::byte* keys = nullptr;    // as in an f32 page
  const std::byte* values = nullptr;  // as in an f32 page
};

// One head of up to kQueryBlock rows of one sequence. With s = q . k / sqrt(D):
//   silu:    sum over visible j of silu(s_j) / scaling_seqlen * v_j (Zhai et al. 2024, equation 2)
//   softmax: sum over visible j of softmax(s)_j * v_j
// A row's sum is made per chunk of kKeyChunk absolute positions, each from zero, the chunks joined
// in ascending order, its own candidates' group last: so its bits depend on its position and on
// what it sees, not on how rows are split into calls.
struct HstuAttentionArgs {
  AttentionKind kind;
  float scaling_seqlen;
  KvPageLayout layout;
  KvBlocks history;  // K and V of positions [mask.history_begin, mask.history_end)
  AttentionMask mask;
  int64_t head;
  int64_t position;          // of row 0 of q; the others follow
  ConstActivations q;        // [m, D], of this head
  Activations out;           // [m, D]; may be q
  ConstActivations group_k;  // [candidates, D], of this head; row 0 is the candidate at history_end
  ConstActivations group_v;  // [candidates, D]
  float* scratch;            // HstuAttentionScratch(D) floats
  OwnPage own = {};          // of int8 pages only
  // Rows that follow upon q's and lie elsewhere: a key is read once for all.
  ConstActivations q_after = {};  // [n, D]
  Activations out_after = {};     // [n, D]; may be q_after
  // Other than kF32: of q, K and V, all in bf16; weights are rounded to bf16. `own` is not used,
  // and a candidates' group is multiplied in f32.
  Products products = Products::kF32;

  int64_t rows() const { return q.rows + q_after.rows; }  // at most kQueryBlock
};

constexpr int64_t HstuAttentionScratch(int64_t dim) {
  const int64_t padded = RoundUp(dim, kTileDepth);
  const int64_t blocks = kQueryBlock * (kKeyChunk + 3 * padded);  // q; weights; two of sums
  const int64_t rows = (kMostFewTileRows + 4) * padded;  // sums of a page and a group; q, k, v
  // Keys when scores are made, channels when values are summed.
  const int64_t expanded = kMostTilePanels * kPanelWidth * std::max<int64_t>(padded, kKeyChunk);
  return blocks + rows + expanded;
}

using HstuAttentionFn = void(const HstuAttentionArgs&);
HstuAttentionFn* HstuAttentionFor(Isa isa);
// The scalar reference: row by row, in double.
void HstuAttentionPlain(const HstuAttentionArgs& args);

// The same in two steps, so that threads can share the keys of few rows: each chunk's part by
// itself, then all parts joined in order. The bits are those of the whole.
// `part` holds HstuAttentionPart(rows(), D) floats, the parts of ascending chunks lie side by side.
using HstuAttentionChunkFn = void(const HstuAttentionArgs&, int64_t chunk, float* part);
HstuAttentionChunkFn* HstuAttentionChunkFor(Isa isa);
using HstuAttentionJoinFn = void(const HstuAttentionArgs&, int64_t chunks, const float* parts);
HstuAttentionJoinFn* HstuAttentionJoinFor(Isa isa);

constexpr int64_t HstuAttentionPart(int64_t rows, int64_t dim) {
  return rows * (RoundUp(dim, kPanelWidth) + 2);
}

}  // namespace hstu

#endif  // HSTU_KERNELS_HSTU_ATTENTION_H_
