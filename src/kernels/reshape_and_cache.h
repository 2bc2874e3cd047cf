// Operator reshape_and_cache: writes a step's K and V into the slots of their pages.
#ifndef HSTU_KERNELS_RESHAPE_AND_CACHE_H_
#define HSTU_KERNELS_RESHAPE_AND_CACHE_H_

#include <cstdint>

#include "base/cpu.h"
#include "kernels/kv_blocks.h"
#include "tensor/view.h"

namespace hstu {

// Into pages of f32, bf16 or f16, rounded to nearest. int8 pages come from f32 ones: quantize_page.
struct ReshapeAndCacheArgs {
  ConstActivations k;  // [m, H * D]
  ConstActivations v;  // [m, H * D]
  int64_t position;    // of row 0; the others follow
  KvPageLayout layout;
  KvBlocks blocks;
};

using ReshapeAndCacheFn = void(const ReshapeAndCacheArgs&);
ReshapeAndCacheFn* ReshapeAndCacheFor(Isa isa);
// The scalar reference: element by element, the same bits.
void ReshapeAndCachePlain(const ReshapeAndCacheArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_RESHAPE_AND_CACHE_H_
