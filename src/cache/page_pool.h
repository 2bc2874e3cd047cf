// The cache's memory: pages of K and V, handed out one by one. A page is one of a stage: its number
// holds for all layers of the stage.
#ifndef HSTU_CACHE_PAGE_POOL_H_
#define HSTU_CACHE_PAGE_POOL_H_

#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "cache/kv_layout.h"
#include "hstu/hstu.hpp"

namespace hstu {

// Where ranks share the pages, each has the lists of all, so that they decide alike, and memory for
// its own: a page's number is one of its owner's.
class PagePool {
 public:
  // Reserves all pages; they get resident when they are written. Errors (kIo) name the size.
  static Result<PagePool> Make(KvLayout layout);

  const KvLayout& layout() const { return layout_; }
  int64_t free_pages(size_t stage, int64_t owner) const {
    return static_cast<int64_t>(free_[List(stage, owner)].size());
  }

  // A page that nobody has. There must be one.
  int32_t Take(size_t stage, int64_t owner);
  void Give(size_t stage, int64_t owner, int32_t page) {
    free_[List(stage, owner)].push_back(page);
  }

  std::byte* keys() const { return keys_; }      // of layer 0, page 0
  std::byte* values() const { return values_; }  // of layer 0, page 0

 private:
  PagePool(KvLayout layout, Arena arena);
  size_t List(size_t stage, int64_t owner) const {
    return stage * static_cast<size_t>(layout_.shape.ranks) + static_cast<size_t>(owner);
  }

  KvLayout layout_;
  Arena arena_;
  std::byte* keys_;
  std::byte* values_;
  std::vector<std::vector<int32_t>> free_;  // of each List; the last is handed out next
};

}  // namespace hstu

#endif  // HSTU_CACHE_PAGE_POOL_H_
