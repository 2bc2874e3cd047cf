#include "base/cpu.h"

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <sched.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace hstu {
namespace {

struct IsaEntry {
  Isa isa;
  std::string_view name;
  int64_t target;  // Highway's bit
};

constexpr IsaEntry kIsas[] = {
    {Isa::kScalar, "scalar", HWY_EMU128},
    {Isa::kAvx2, "avx2", HWY_AVX2},
    {Isa::kAvx512, "avx512", HWY_AVX3},
};

std::vector<Isa> DetectIsas() {
  const int64_t supported = hwy::SupportedTargets() | HWY_EMU128;
  std::vector<Isa> isas;
  for (const IsaEntry& entry : kIsas) {
    if (supported & entry.target) isas.push_back(entry.isa);
  }
  return isas;
}

std::string JoinNames(const std::vector<Isa>& isas) {
  std::string joined;
  for (const Isa isa : isas) {
    if (!joined.empty()) joined += ", ";
    joined += IsaName(isa);
  }
  return joined;
}

}  // namespace

std::string_view IsaName(Isa isa) { return kIsas[static_cast<int>(isa)].name; }

const std::vector<Isa>& SupportedIsas() {
  static const std::vector<Isa> isas = DetectIsas();
  return isas;
}

Result<Isa> ParseIsa(std::string_view name) {
  const std::vector<Isa>& supported = SupportedIsas();
  if (name.empty()) return supported.back();
  for (const IsaEntry& entry : kIsas) {
    if (entry.name != name) continue;
    if (std::count(supported.begin(), supported.end(), entry.isa) > 0) return entry.isa;
    return MakeError(ErrorCode::kBadArgument, "isa {}: this processor lacks it; it has {}", name,
                     JoinNames(supported));
  }
  return MakeError(ErrorCode::kBadArgument,
                   "isa {}: no such instruction set; use scalar, avx2 or avx512", name);
}

bool HasBF16Instruction(Isa isa) {
  return isa == Isa::kAvx512 && __builtin_cpu_supports("avx512bf16") != 0;
}

bool CanMultiplyBF16Pairs(Isa isa) { return isa != Isa::kAvx512 || HasBF16Instruction(isa); }

int AvailableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace hstu
