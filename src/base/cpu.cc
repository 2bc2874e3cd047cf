#include "base/cpu.h"

#include <cpuid.h>
#include <hwy/highway.h>
#include <hwy/targets.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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
  const int64_t supported = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_EMU128;
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

bool HasBF16Pairs() { return __builtin_cpu_supports("avx512bf16") != 0; }

bool HasBF16Tiles() {
  constexpr unsigned kBoth = 1u << 22 | 1u << 24;  // AMX-BF16 and AMX-TILE
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kBoth) == kBoth;
}

bool MayUseBF16Tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>, Linux 5.16
  constexpr long kTileData = 18;               // 8 KiB of a thread's state
  static const bool allowed =
      HasBF16Tiles() && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return allowed;
}

int AvailableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace hstu
