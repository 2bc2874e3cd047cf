// What the processor can do, and which instruction set the kernels use.
#ifndef HSTU_BASE_CPU_H_
#define HSTU_BASE_CPU_H_

#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// Sums differ in their last bits from one to the other, never within one.
enum class Isa { kScalar, kAvx2, kAvx512 };

std::string_view IsaName(Isa isa);

// What this machine can run, best last. Never empty.
const std::vector<Isa>& SupportedIsas();

// The instruction set of that name; the best one for "". Errors: unknown, or not on this machine.
Result<Isa> ParseIsa(std::string_view name);

// Whether the kernels of `isa` multiply pairs of bf16 by an instruction that this machine has.
bool HasBF16Instruction(Isa isa);
// Whether they can here: those of kAvx512 by that instruction alone, the others slowly without it.
bool CanMultiplyBF16Pairs(Isa isa);

// Processors that the process may run on.
int AvailableProcessors();

}  // namespace hstu

#endif  // HSTU_BASE_CPU_H_
