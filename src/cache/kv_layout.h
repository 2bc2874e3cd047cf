// Where the K and V of every layer lie in the cache: one allocation for all K, one for all V, and
// an offset table computed from the model. The layers of one stage have the same number of pages,
// later stages fewer: their tokens are windows of the stage before.
#ifndef HSTU_CACHE_KV_LAYOUT_H_
#define HSTU_CACHE_KV_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hstu/hstu.hpp"
#include "kernels/kv_blocks.h"
#include "kernels/stages.h"

namespace hstu {

// What the layout needs to know of a model and of how it is kept.
struct KvModelShape {
  std::vector<Stage> stages;
  int64_t heads = 0;
  int64_t dim = 0;                 // D, of one head
  int64_t hidden_size = 0;         // C, of outputs that wait for their window
  int64_t max_history_tokens = 0;  // of one user, in the first stage
  KvDType dtype = KvDType::kF32;
  // That share a user's pages: each holds those of every ranks-th chunk of kKeyChunk positions.
  int64_t ranks = 1;

  int64_t OwnerOfPosition(int64_t position) const {
    return OwnerOfChunk(position / kKeyChunk, ranks);
  }
  int64_t num_stages() const { return static_cast<int64_t>(stages.size()); }
};

struct KvStageLayout {
  int64_t first_layer = 0;
  int64_t num_layers = 0;
  int64_t pages = 0;  // in each of its layers
};

struct KvLayout {
  KvModelShape shape;
  KvPageLayout page;
  std::vector<KvStageLayout> stages;
  std::vector<int64_t> key_offsets;    // of each layer, in bytes
  std::vector<int64_t> value_offsets;  // of each layer, in bytes
  // Users at a time, where they keep something beside pages (BesideBytes); 0: any number.
  int64_t users = 0;
  int64_t beside_bytes = 0;  // of all `users`

  size_t StageOf(int64_t layer) const;
  int64_t LayerPages() const;  // of all layers together
  int64_t KeyBytes() const { return LayerPages() * page.KeyPageBytes(); }
  int64_t ValueBytes() const { return LayerPages() * page.ValuePageBytes(); }
  int64_t Bytes() const { return KeyBytes() + ValueBytes() + beside_bytes; }
};

// Bytes of a page in one layer, K and V.
int64_t LayerPageBytes(const KvPageLayout& page);

// Bytes of a user's open page in one layer: its K, then its V, in f32. 0 unless pages are int8.
int64_t OpenPageBytes(const KvPageLayout& page);

// What a user keeps of a stage beside pages: outputs of the stage before that wait, window - 1 rows
// of C at most, and the open pages of all its layers.
int64_t WaitingFloats(const KvModelShape& shape, std::size_t stage);
int64_t OpenBytes(const KvLayout& layout, std::size_t stage);
int64_t BesideBytes(const KvLayout& layout, std::size_t stage);

// Pages of a layer that hold the positions [first, end); the first page may begin in its middle.
int64_t PagesFor(int64_t first, int64_t end, int64_t page_tokens);

// Pages that one user fills at most in a layer of each stage, on one rank: a first page that begins
// in its middle included.
std::vector<int64_t> KvPagesPerUser(const KvModelShape& shape, int64_t page_tokens);

// Bytes of one user at max_history_tokens, K and V of all layers.
struct KvUserBytes {
  int64_t staged = 0;    // as they are: stages of different lengths
  int64_t uniform = 0;   // if every layer were as long as the first stage's
  int64_t separate = 0;  // an allocation of its own for each layer, of just its tokens' whole pages
};
KvUserBytes CountUserBytes(const KvModelShape& shape, int64_t page_tokens);

// kBadArgument, with the reason, for a page size other than 32, 64 and 128.
Status CheckPageTokens(int64_t page_tokens);

// `pages`: of a layer of the first stage; the others get as many as hold the same users. Users may
// keep a quarter of the pages' bytes beside them, but one user always finds room.
// Errors (kBadArgument): CheckPageTokens; fewer pages than one user may need, with the number.
Result<KvLayout> MakeKvLayout(const KvModelShape& shape, int64_t page_tokens, int64_t pages);

// The most pages of a layer of the first stage with which a layout's Bytes() fit into `bytes`.
int64_t KvPagesWithin(const KvModelShape& shape, int64_t page_tokens, int64_t bytes);

}  // namespace hstu

#endif  // HSTU_CACHE_KV_LAYOUT_H_
