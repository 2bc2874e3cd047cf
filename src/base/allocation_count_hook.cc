// Replaces the global operator new by one that counts. Linked into the binary and into the test of
// "a warm step allocates nothing", not into the library.
#include <cstdlib>
#include <new>

#include "base/allocation_count.h"

namespace {

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  hstu::allocation_count.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

std::size_t Rounded(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return (size + unit - 1) / unit * unit;
}

}  // namespace

void* operator new(std::size_t size) { return Counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Counted(std::aligned_alloc(static_cast<std::size_t>(alignment), Rounded(size, alignment)));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
