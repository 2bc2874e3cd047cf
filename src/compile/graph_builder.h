// The graph of a model, operator by operator as the formulas have them, nothing fused.
#ifndef HSTU_COMPILE_GRAPH_BUILDER_H_
#define HSTU_COMPILE_GRAPH_BUILDER_H_

#include <cstdint>

#include "compile/graph.h"
#include "model/config.h"

namespace hstu {

// Its operators:
//   gather(tables) [n, C], scale, gather_position, add                      a user's tokens
//   layer_norm, linear, silu, split(U, V, Q, K)                             Zhai et al. 2024, (1)
//   scores(Q, K) [H, n, n], scale, silu, divide, mask, weigh(scores, V)     (2)
//   scores, scale, mask, softmax, weigh                                     (2), softmax attention
//   softmax_parts, weigh_parts, attention_update, join_heads                the same, where ranks
//                                                                           share the keys
//   layer_norm, mul(U), linear, add(x)                                      (3)
//   pool_windows, join(candidates)                                          between stages
//   candidates(x) [m, C], l2_norm, linear, relu                             the head
// `sp_size`: ranks that share the keys. Silu attention's parts are sums, so nothing changes there.
Graph BuildGraph(const ModelConfig& config, int64_t sp_size = 1);

}  // namespace hstu

#endif  // HSTU_COMPILE_GRAPH_BUILDER_H_
