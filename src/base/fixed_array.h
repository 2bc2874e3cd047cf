// An array whose length is set once. It is smaller than a vector, and its elements need not move.
#ifndef HSTU_BASE_FIXED_ARRAY_H_
#define HSTU_BASE_FIXED_ARRAY_H_

#include <cstddef>
#include <memory>

namespace hstu {

template <typename T>
class FixedArray {
 public:
  // `size` elements, each as T() makes it.
  explicit FixedArray(std::size_t size) : data_(std::allocator<T>().allocate(size)), size_(size) {
    std::uninitialized_value_construct_n(data_, size_);
  }
  FixedArray(const FixedArray&) = delete;
  FixedArray& operator=(const FixedArray&) = delete;
  ~FixedArray() {
    std::destroy_n(data_, size_);
    std::allocator<T>().deallocate(data_, size_);
  }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_;
  std::size_t size_;
};

}  // namespace hstu

#endif  // HSTU_BASE_FIXED_ARRAY_H_
