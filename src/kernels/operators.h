// The operators in force: one function each, chosen by instruction set and by --fused-ops.
#ifndef HSTU_KERNELS_OPERATORS_H_
#define HSTU_KERNELS_OPERATORS_H_

#include <string_view>

#include "base/cpu.h"
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
#include "kernels/registry.h"
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

// All that this library has.
Result<OperatorRegistry> BuiltinOperators();

// `fused_ops` is "all", "none", or operators' names joined by commas; the others run their plain
// variant. Errors (kBadArgument): a name that is no operator's.
Result<Operators> SelectOperators(const OperatorRegistry& registry, Isa isa,
                                  std::string_view fused_ops);

}  // namespace hstu

#endif  // HSTU_KERNELS_OPERATORS_H_
