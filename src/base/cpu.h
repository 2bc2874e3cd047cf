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

// Whether the processor multiplies pairs of bf16 (AVX-512-BF16), and tiles of bf16 (AMX-BF16).
bool HasBF16Pairs();
bool HasBF16Tiles();
// Whether the system lets this process use tiles, which the first call asks for.
bool MayUseBF16Tiles();

// Processors that the process may run on.
int AvailableProcessors();

}  // namespace hstu

#endif  // HSTU_BASE_CPU_H_
