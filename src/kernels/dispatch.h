// Choosing one target's function from a Highway table, by name instead of by what the CPU has.
// Include after <hwy/highway.h>, in the HWY_ONCE part of an operator's file.
#ifndef HSTU_KERNELS_DISPATCH_H_
#define HSTU_KERNELS_DISPATCH_H_

#include <hwy/targets.h>

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace hstu {

// The index of `isa` in a table made by HWY_EXPORT.
inline std::size_t DispatchIndex(Isa isa) {
  hwy::ChosenTarget target;
  target.Update(isa == Isa::kAvx512 ? HWY_AVX3 : isa == Isa::kAvx2 ? HWY_AVX2 : HWY_EMU128);
  return target.GetIndex();
}

}  // namespace hstu

// The function that HWY_EXPORT(name) exported, as compiled for `isa`.
#define HSTU_DISPATCH(name, isa) HWY_DISPATCH_TABLE(name)[DispatchIndex(isa)]

#endif  // HSTU_KERNELS_DISPATCH_H_
