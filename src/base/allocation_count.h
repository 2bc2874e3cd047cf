// Counting heap allocations, in binaries that link allocation_count_hook.cc.
#ifndef HSTU_BASE_ALLOCATION_COUNT_H_
#define HSTU_BASE_ALLOCATION_COUNT_H_

#include <atomic>
#include <cstdint>

namespace hstu {

// Allocations of the whole process so far; stays 0 without the hook.
extern std::atomic<std::int64_t> allocation_count;

}  // namespace hstu

#endif  // HSTU_BASE_ALLOCATION_COUNT_H_
