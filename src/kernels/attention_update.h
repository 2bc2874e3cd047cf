// Operator attention_update: merges the partial softmax attention of sequence-parallel ranks.
#ifndef HSTU_KERNELS_ATTENTION_UPDATE_H_
#define HSTU_KERNELS_ATTENTION_UPDATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "hstu/hstu.hpp"
#include "tensor/dtype.h"

namespace hstu {

// A tensor as a caller describes it. Strides in elements.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::span<const int64_t> shape;
  std::span<const int64_t> strides;
};

// sp ranks, r rows (heads times queries), d channels. What a rank saw of a row has log-sum-exp
// lse_i and attention out_i:
//   top = max lse_i, lse = top + log(sum exp(lse_i - top)), out = sum out_i * exp(lse_i - lse)
// A part that saw nothing has lse -infinity, and its out may hold anything; where all have, out is
// 0 and lse -infinity. Sums are f32 and in the order of ranks. Data needs its elements' alignment.
struct AttentionUpdateArgs {
  int64_t sp = 0;
  int64_t rows = 0;
  int64_t dim = 0;
  DType dtype = DType::kF32;         // of parts and out
  const std::byte* lse = nullptr;    // [sp, r] of f32
  const std::byte* parts = nullptr;  // [sp, r, d]
  std::byte* out = nullptr;          // [r, d]
  std::byte* lse_out = nullptr;      // [r] of f32, or null
  // The rows of this call, so that threads can share them.
  int64_t row_begin = 0;
  int64_t row_end = 0;
  float* scratch = nullptr;  // AttentionUpdateScratch(sp, d) floats, unaligned
};

// The same of parts that lie apart: what callers have whose ranks' results are tensors of their
// own. Registered as attention_update_list, to compare the two.
struct AttentionUpdateListArgs {
  int64_t sp = 0;
  int64_t rows = 0;
  int64_t dim = 0;
  DType dtype = DType::kF32;
  const std::byte* const* lse = nullptr;    // [sp] of [r] of f32
  const std::byte* const* parts = nullptr;  // [sp] of [r, d]
  std::byte* out = nullptr;                 // [r, d]
  std::byte* lse_out = nullptr;             // [r] of f32, or null
  int64_t row_begin = 0;
  int64_t row_end = 0;
  float* scratch = nullptr;  // AttentionUpdateScratch(sp, d) floats, unaligned
};

// Rows that are merged together: their sums stay in L1 while parts stream by, each read once. Sums
// take a quarter of a small L1, weights another; whole vectors of every target.
inline int64_t AttentionUpdateTile(int64_t sp, int64_t dim) {
  constexpr int64_t kFloats = 8192 / sizeof(float);
  const int64_t rows = kFloats / std::max<int64_t>({1, sp, dim});
  return std::clamp<int64_t>(rows / 16 * 16, 16, 256);
}

inline int64_t AttentionUpdateScratch(int64_t sp, int64_t dim) {
  return AttentionUpdateTile(sp, dim) * (sp + dim);
}

using AttentionUpdateFn = void(const AttentionUpdateArgs&);
AttentionUpdateFn* AttentionUpdateFor(Isa isa);
// The scalar reference: in double.
void AttentionUpdatePlain(const AttentionUpdateArgs& args);

using AttentionUpdateListFn = void(const AttentionUpdateListArgs&);
AttentionUpdateListFn* AttentionUpdateListFor(Isa isa);
void AttentionUpdateListPlain(const AttentionUpdateListArgs& args);

// The checked arguments of lse [sp, r], local_out [sp, r, d], out [r, d] and lse_out [r] (may be
// null where update_type is 0). Errors (kBadArgument) name the tensor, what it has and what it
// needs: rank, sizes, type, contiguity.
Result<AttentionUpdateArgs> CheckAttentionUpdate(const TensorView* lse, const TensorView* local_out,
                                                 int64_t update_type, const TensorView* out,
                                                 const TensorView* lse_out);

}  // namespace hstu

#endif  // HSTU_KERNELS_ATTENTION_UPDATE_H_
