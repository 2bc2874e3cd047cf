// The operators in force: one function each, chosen by instruction set and by --fused-ops.
#ifndef HSTU_KERNELS_OPERATORS_H_
#define HSTU_KERNELS_OPERATORS_H_

#include <string_view>

#include "base/cpu.h"
#include "kernels/operator_table.h"
#include "kernels/registry.h"

namespace hstu {

// All that this library has.
Result<OperatorRegistry> BuiltinOperators();

// `fused_ops` is "all", "none", or operators' names joined by commas; the others run their plain
// variant. Errors (kBadArgument): a name that is no operator's.
Result<Operators> SelectOperators(const OperatorRegistry& registry, Isa isa,
                                  std::string_view fused_ops);

}  // namespace hstu

#endif  // HSTU_KERNELS_OPERATORS_H_
