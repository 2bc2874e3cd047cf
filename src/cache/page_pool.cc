#include "cache/page_pool.h"

#include <utility>

#include "base/error.h"

namespace hstu {

Result<PagePool> PagePool::Make(KvLayout layout) {
  Arena sizes;
  sizes.Take<std::byte>(layout.KeyBytes());
  sizes.Take<std::byte>(layout.ValueBytes());
  HSTU_ASSIGN_OR_RETURN(Arena arena, Arena::Allocate(sizes.used()));
  return PagePool(std::move(layout), std::move(arena));
}

PagePool::PagePool(KvLayout layout, Arena arena)
    : layout_(std::move(layout)), arena_(std::move(arena)) {
  keys_ = arena_.Take<std::byte>(layout_.KeyBytes());
  values_ = arena_.Take<std::byte>(layout_.ValueBytes());
  for (size_t list = 0; list < List(layout_.stages.size(), 0); ++list) {
    const KvStageLayout& stage = layout_.stages[list / List(1, 0)];
    std::vector<int32_t>& pages = free_.emplace_back();
    pages.reserve(stage.pages);
    for (int64_t page = stage.pages; page > 0; --page) {
      pages.push_back(static_cast<int32_t>(page - 1));
    }
  }
}

int32_t PagePool::Take(size_t stage, int64_t owner) {
  std::vector<int32_t>& pages = free_[List(stage, owner)];
  const int32_t page = pages.back();
  pages.pop_back();
  return page;
}

}  // namespace hstu
