// Operator reshape_and_cache: writes a step's K and V into the slots of their pages.
#ifndef HSTU_KERNELS_RESHAPE_AND_CACHE_H_
#define HSTU_KERNELS_RESHAPE_AND_CACHE_H_

#include <cstdint>

#include "kernels/kv_blocks.h"
#include "tensor/view.h"

namespace hstu {

struct ReshapeAndCacheArgs {
  ConstMatrix k;     // [m, H * D]
  ConstMatrix v;     // [m, H * D]
  int64_t position;  // of row 0; the others follow
  KvPageLayout layout;
  KvBlocks blocks;
};

void ReshapeAndCache(const ReshapeAndCacheArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_RESHAPE_AND_CACHE_H_
