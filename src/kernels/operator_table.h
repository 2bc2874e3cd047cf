// The operators of a step: one function each.
#ifndef HSTU_KERNELS_OPERATOR_TABLE_H_
#define HSTU_KERNELS_OPERATOR_TABLE_H_

#include "kernels/embed_tokens.h"
#include "kernels/hstu_attention.h"
#include "kernels/in_linear_silu.h"
#include "kernels/l2_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/linear.h"
#include "kernels/linear_residual.h"
#include "kernels/norm_mul.h"
#include "kernels/pool_windows.h"
#include "kernels/quantize_page.h"
#include "kernels/reshape_and_cache.h"

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
  NormMulFn* norm_mul;
  LinearResidualFn* linear_residual;
  PoolWindowsFn* pool_windows;
  L2NormFn* l2_norm;
  LinearFn* linear;
};

}  // namespace hstu

#endif  // HSTU_KERNELS_OPERATOR_TABLE_H_
