#include "compile/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/aligned.h"

namespace hstu {
namespace {

// 5,040 orders are tried in about a millisecond.
constexpr std::size_t kMostForAllOrders = 7;

// The lowest offset at which buffer `index` meets none of those that `placed` names.
int64_t LowestOffset(std::span<const Lifetime> buffers, const std::vector<int64_t>& offsets,
                     std::span<const std::size_t> placed, std::size_t index) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const std::size_t other : placed) {
    if (!buffers[other].Meets(buffers[index])) continue;
    taken.emplace_back(offsets[other], offsets[other] + buffers[other].bytes);
  }
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + buffers[index].bytes <= begin) break;
    offset = std::max(offset, RoundUp(end, kAlignment));
  }
  return offset;
}

MemoryPlan PlaceInOrder(std::span<const Lifetime> buffers, std::span<const std::size_t> order) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t index = order[i];
    plan.offsets[index] = LowestOffset(buffers, plan.offsets, order.first(i), index);
    plan.bytes =
        std::max(plan.bytes, RoundUp(plan.offsets[index] + buffers[index].bytes, kAlignment));
  }
  return plan;
}

}  // namespace

MemoryPlan PlanMemory(std::span<const Lifetime> buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (buffers.size() > kMostForAllOrders) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return buffers[a].bytes > buffers[b].bytes;
    });
    return PlaceInOrder(buffers, order);
  }
  MemoryPlan best = PlaceInOrder(buffers, order);
  while (std::next_permutation(order.begin(), order.end())) {
    MemoryPlan plan = PlaceInOrder(buffers, order);
    if (plan.bytes < best.bytes) best = std::move(plan);
  }
  return best;
}

}  // namespace hstu
