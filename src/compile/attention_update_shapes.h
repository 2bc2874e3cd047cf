// The shape rule of attention_update in a graph.
#ifndef HSTU_COMPILE_ATTENTION_UPDATE_SHAPES_H_
#define HSTU_COMPILE_ATTENTION_UPDATE_SHAPES_H_

#include "compile/graph.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct AttentionUpdateShapes {
  Shape out;  // [r, d]
  Shape lse;  // [r]
};

// Of lse [sp, r] and parts [sp, r, d]. sp is a number, r and d may be symbols. Errors
// (kBadArgument) name the operand, its shape and what it needs.
Result<AttentionUpdateShapes> InferAttentionUpdate(const Shape& lse, const Shape& parts);

}  // namespace hstu

#endif  // HSTU_COMPILE_ATTENTION_UPDATE_SHAPES_H_
