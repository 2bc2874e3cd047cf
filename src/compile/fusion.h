// Passes over a model's graph: operators that one kernel computes in one pass become one, and every
// value gets its place.
#ifndef HSTU_COMPILE_FUSION_H_
#define HSTU_COMPILE_FUSION_H_

#include <string>
#include <vector>

#include "compile/graph.h"

namespace hstu {

// The operators of kernels/operator_table.h, in the order in which they run:
//   gather, scale, gather_position, add                         -> embed_tokens
//   linear, silu                                                -> in_linear_silu
//   (K and V into their pages)                                  -> reshape_and_cache
//   scores ... weigh, or weigh_parts; join_heads                -> hstu_attention
//   attention_update                                            -> attention_update
//   layer_norm, mul                                             -> norm_mul
//   linear, add                                                 -> linear_residual
//   pool_windows, join                                          -> pool_windows
//   candidates, l2_norm                                         -> l2_norm
//   linear, relu                                                -> linear
// `int8_pages`: full pages are made int8, by quantize_page.
Graph Fuse(const Graph& graph, bool int8_pages);

// Two kernels after one another that are not one, and why.
struct GraphBreak {
  std::string after;  // nodes
  std::string before;
  std::string reason;
};
std::vector<GraphBreak> GraphBreaks(const Graph& fused);

}  // namespace hstu

#endif  // HSTU_COMPILE_FUSION_H_
