#include "base/arena.h"

#include <sys/mman.h>

#include <utility>

#include "base/error.h"

namespace hstu {

Result<Arena> Arena::Allocate(int64_t bytes) {
  Arena arena;
  arena.size_ = RoundUp(bytes, 1 << 21);
  void* data = mmap(nullptr, static_cast<size_t>(arena.size_), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return MakeError(ErrorCode::kIo,
                     "no room for an arena of {} bytes: lower max_step_tokens, or the model's "
                     "max_history_tokens",
                     bytes);
  }
  // Fewer misses of the TLB; a refusal costs nothing but speed.
  madvise(data, static_cast<size_t>(arena.size_), MADV_HUGEPAGE);
  arena.data_ = static_cast<std::byte*>(data);
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      used_(std::exchange(other.used_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(used_, other.used_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_));
}

}  // namespace hstu
