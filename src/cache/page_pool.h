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

class PagePool {
 public:
  // Reserves all pages; they get resident when they are written. Errors (kIo) name the size.
  static Result<PagePool> Make(KvLayout layout);

  const KvLayout& layout() const { return layout_; }
  int64_t free_pages(size_t stage) const { return static_cast<int64_t>(free_[stage].size()); }

  // A page that nobody has. There must be one.
  int32_t Take(size_t stage);
  void Give(size_t stage, int32_t page) { free_[stage].push_back(page); }

  std::byte* keys() const { return keys_; }      // of layer 0, page 0
  std::byte* values() const { return values_; }  // of layer 0, page 0

 private:
  PagePool(KvLayout layout, Arena arena);

  KvLayout layout_;
  Arena arena_;
  std::byte* keys_;
  std::byte* values_;
  std::vector<std::vector<int32_t>> free_;  // of each stage; the last is handed out next
};

}  // namespace hstu

#endif  // HSTU_CACHE_PAGE_POOL_H_
