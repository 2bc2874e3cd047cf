// Where the K and V of every layer lie in the cache: one allocation for all K, one for all V, and
// an offset table computed from the model.
#ifndef HSTU_CACHE_KV_LAYOUT_H_
#define HSTU_CACHE_KV_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "hstu/hstu.hpp"
#include "kernels/kv_blocks.h"

namespace hstu {

// What the layout needs to know of a model.
struct KvModelShape {
  int64_t num_layers = 0;
  int64_t heads = 0;
  int64_t dim = 0;                 // D, of one head
  int64_t max_history_tokens = 0;  // of one user
};

struct KvLayout {
  KvPageLayout page;
  int64_t pages = 0;                   // in every layer
  std::vector<int64_t> key_offsets;    // of each layer, in floats
  std::vector<int64_t> value_offsets;  // of each layer, in floats

  int64_t KeyFloats() const;
  int64_t ValueFloats() const;
  int64_t Bytes() const;  // of all K and V
};

// Bytes that one page takes in all layers together, K and V.
int64_t KvPageBytes(const KvModelShape& shape, int64_t page_tokens);

// Pages that one user fills at most: a first page that begins in its middle included.
int64_t KvPagesPerUser(const KvModelShape& shape, int64_t page_tokens);

// kBadArgument, with the reason, for a page size other than 32, 64 and 128.
Status CheckPageTokens(int64_t page_tokens);

// Errors (kBadArgument): CheckPageTokens; fewer pages than
// one user may need, with the number.
Result<KvLayout> MakeKvLayout(const KvModelShape& shape, int64_t page_tokens, int64_t pages);

}  // namespace hstu

#endif  // HSTU_CACHE_KV_LAYOUT_H_
