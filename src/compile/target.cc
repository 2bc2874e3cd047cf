#include "compile/target.h"

#include "base/error.h"

namespace hstu {
namespace {

const Target kTargets[] = {
    {"x86-64-v3", Isa::kAvx2, "HWY_AVX2"},
    {"x86-64-v4", Isa::kAvx512, "HWY_AVX3"},
};

}  // namespace

Result<Target> ParseTarget(std::string_view name) {
  const Isa best = SupportedIsas().back();
  for (const Target& target : kTargets) {
    if (target.name == name || (name == "native" && target.isa == best)) return target;
  }
  if (name == "native") {
    return MakeError(ErrorCode::kBadArgument,
                     "target native: this processor has neither AVX2 nor AVX-512; name the one "
                     "that will serve: x86-64-v3 or x86-64-v4");
  }
  return MakeError(ErrorCode::kBadArgument,
                   "target {}: there are native, x86-64-v3 (AVX2) and x86-64-v4 (AVX-512)", name);
}

}  // namespace hstu
