#include "compile/attention_update_shapes.h"

#include "base/error.h"

namespace hstu {

Result<AttentionUpdateShapes> InferAttentionUpdate(const Shape& lse, const Shape& parts) {
  const auto refuse = [](const char* operand, const Shape& shape, const char* needs) {
    return MakeError(ErrorCode::kBadArgument, "attention_update: {} is {}, and must be {}", operand,
                     FormatShape(shape), needs);
  };
  if (lse.size() != 2) return refuse("lse", lse, "[sp, r]");
  if (!lse[0].symbol.empty() || lse[0].size < 1) {
    return refuse("lse", lse, "[sp, r] of a number sp of at least 1");
  }
  if (parts.size() != 3) return refuse("local_out", parts, "[sp, r, d]");
  if (parts[0] != lse[0] || parts[1] != lse[1]) {
    return refuse("local_out", parts,
                  ("[sp, r, d] of lse's sp and r, " + FormatShape(lse)).c_str());
  }
  return AttentionUpdateShapes{{parts[1], parts[2]}, {lse[1]}};
}

}  // namespace hstu
