// The operators of a step: one function each.
#ifndef HSTU_KERNELS_OPERATOR_TABLE_H_
#define HSTU_KERNELS_OPERATOR_TABLE_H_

#include <cstddef>
#include <utility>

#include "kernels/attention_update.h"
#include "kernels/embed_tokens.h"
#include "kernels/hstu_attention.h"
#include "kernels/in_linear_silu.h"
#include "kernels/l2_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/linear_residual.h"
#include "kernels/norm_mul.h"
#include "kernels/norm_mul_moments.h"
#include "kernels/pool_windows.h"
#include "kernels/quantize_page.h"
#include "kernels/reshape_and_cache.h"
#include "kernels/row_moments.h"

namespace hstu {

struct Operators {
  EmbedTokensFn* embed_tokens;
  LayerNormFn* layer_norm;
  InLinearSiluFn* in_linear_silu;
  ReshapeAndCacheFn* reshape_and_cache;
  QuantizePageFn* quantize_page;
  HstuAttentionFn* hstu_attention;
  // The same in two steps; null where it runs plain.
  HstuAttentionChunkFn* hstu_attention_chunk;
  HstuAttentionJoinFn* hstu_attention_join;
  AttentionUpdateFn* attention_update;
  NormMulFn* norm_mul;
  RowMomentsFn* row_moments;
  NormMulMomentsFn* norm_mul_moments;
  LinearResidualFn* linear_residual;
  PoolWindowsFn* pool_windows;
  L2NormFn* l2_norm;
  LinearFn* linear;
};

// visit(member) for each of them, a pointer to a member of Operators.
template <class Visit>
constexpr void ForEachOperator(const Visit& visit) {
  visit(&Operators::embed_tokens);
  visit(&Operators::layer_norm);
  visit(&Operators::in_linear_silu);
  visit(&Operators::reshape_and_cache);
  visit(&Operators::quantize_page);
  visit(&Operators::hstu_attention);
  visit(&Operators::hstu_attention_chunk);
  visit(&Operators::hstu_attention_join);
  visit(&Operators::attention_update);
  visit(&Operators::norm_mul);
  visit(&Operators::row_moments);
  visit(&Operators::norm_mul_moments);
  visit(&Operators::linear_residual);
  visit(&Operators::pool_windows);
  visit(&Operators::l2_norm);
  visit(&Operators::linear);
}
static_assert(
    [] {
      size_t bytes = 0;
      ForEachOperator([&](auto member) { bytes += sizeof(std::declval<Operators>().*member); });
      return bytes;
    }() == sizeof(Operators),
    "an operator is left out");

}  // namespace hstu

#endif  // HSTU_KERNELS_OPERATOR_TABLE_H_
