// Where buffers of known lifetimes lie in one arena.
#ifndef HSTU_COMPILE_MEMORY_PLAN_H_
#define HSTU_COMPILE_MEMORY_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

namespace hstu {

// In use from node `first` to node `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;

  bool Meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // of each buffer, multiples of kAlignment
  int64_t bytes = 0;             // of the arena
};

// No two buffers that are in use at once overlap. Few buffers are placed in every order, and the
// smallest arena is taken; many by size.
MemoryPlan PlanMemory(std::span<const Lifetime> buffers);

}  // namespace hstu

#endif  // HSTU_COMPILE_MEMORY_PLAN_H_
