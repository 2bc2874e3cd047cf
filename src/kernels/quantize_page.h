// Operator quantize_page: a full page of K and V from f32 to int8.
#ifndef HSTU_KERNELS_QUANTIZE_PAGE_H_
#define HSTU_KERNELS_QUANTIZE_PAGE_H_

#include <cstddef>

#include "base/cpu.h"
#include "kernels/kv_blocks.h"

namespace hstu {

// Of each head, scale = largest absolute value / 127 and element = round(value / scale), ties to
// even; for K and V apart. All entries of the page must hold tokens.
struct QuantizePageArgs {
  KvPageLayout layout;      // of the int8 page
  const std::byte* keys;    // of the f32 page
  const std::byte* values;  // of the f32 page
  std::byte* int8_keys;
  std::byte* int8_values;
};

using QuantizePageFn = void(const QuantizePageArgs&);
QuantizePageFn* QuantizePageFor(Isa isa);
// The scalar reference: the same bits.
void QuantizePagePlain(const QuantizePageArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_QUANTIZE_PAGE_H_
