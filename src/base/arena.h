// One allocation for all buffers of an engine. The layout is placed twice: first without memory, to
// learn the size, then for real.
#ifndef HSTU_BASE_ARENA_H_
#define HSTU_BASE_ARENA_H_

#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "hstu/hstu.hpp"

namespace hstu {

class Arena {
 public:
  // Without memory: Take counts, and returns null.
  Arena() = default;
  // Pages get resident when they are touched. Errors (kIo) name the size.
  static Result<Arena> Allocate(int64_t bytes);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  // Room for `count` elements, not initialised.
  template <typename T>
  T* Take(int64_t count) {
    const int64_t begin = used_;
    used_ += RoundUp(count * static_cast<int64_t>(sizeof(T)), kAlignment);
    return data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + begin);
  }

  int64_t used() const { return used_; }  // bytes

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  int64_t used_ = 0;
};

}  // namespace hstu

#endif  // HSTU_BASE_ARENA_H_
