// Memory for kernels: aligned to a cache line pair, uninitialised, with room behind the end.
#ifndef HSTU_BASE_ALIGNED_H_
#define HSTU_BASE_ALIGNED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace hstu {

inline constexpr std::size_t kAlignment = 128;  // bytes

constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
constexpr int64_t CeilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
};

template <typename T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete>;

// `count` elements, not initialised.
template <typename T>
AlignedArray<T> AllocateAligned(int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(RoundUp(count * sizeof(T) + 1, kAlignment));
  return AlignedArray<T>(static_cast<T*>(::operator new (bytes, std::align_val_t{kAlignment})));
}

}  // namespace hstu

#endif  // HSTU_BASE_ALIGNED_H_
