// The processors that artifacts are made for.
#ifndef HSTU_COMPILE_TARGET_H_
#define HSTU_COMPILE_TARGET_H_

#include <string>
#include <string_view>

#include "base/cpu.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct Target {
  std::string name;     // "x86-64-v3" or "x86-64-v4"
  Isa isa;              // of the built-in kernels whose bits it gives
  std::string highway;  // Highway's target
};

// "native" is the best of this machine. Errors (kBadArgument): no such target, or a machine that
// has none of them.
Result<Target> ParseTarget(std::string_view name);

}  // namespace hstu

#endif  // HSTU_COMPILE_TARGET_H_
