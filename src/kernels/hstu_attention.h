// Operator hstu_attention: SiLU or softmax attention over pages of K and V, no score matrix in
// memory, tiles that the mask hides skipped.
#ifndef HSTU_KERNELS_HSTU_ATTENTION_H_
#define HSTU_KERNELS_HSTU_ATTENTION_H_

#include <cstdint>

#include "base/cpu.h"
#include "kernels/attention_kind.h"
#include "kernels/attention_mask.h"
#include "kernels/kv_blocks.h"
#include "tensor/view.h"

namespace hstu {

// Rows that one call computes at most.
inline constexpr int64_t kQueryBlock = 48;

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
  int64_t position;     // of row 0 of q; the others follow
  ConstMatrix q;        // [m, D], of this head
  Matrix out;           // [m, D]; may be q
  ConstMatrix group_k;  // [candidates, D], of this head; row 0 is the candidate at history_end
  ConstMatrix group_v;  // [candidates, D]
  float* scratch;       // HstuAttentionScratch(D) floats
};

constexpr int64_t HstuAttentionScratch(int64_t dim) {
  const int64_t padded = RoundUp(dim, kPanelWidth);
  return kQueryBlock * (kKeyChunk + 3 * padded);
}

using HstuAttentionFn = void(const HstuAttentionArgs&);
HstuAttentionFn* HstuAttentionFor(Isa isa);
// The scalar reference: row by row, in double.
void HstuAttentionPlain(const HstuAttentionArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_HSTU_ATTENTION_H_
