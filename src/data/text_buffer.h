// Text that is built of many small pieces, quickly.
#ifndef HSTU_DATA_TEXT_BUFFER_H_
#define HSTU_DATA_TEXT_BUFFER_H_

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hstu {

class TextBuffer {
 public:
  void Append(std::string_view text) {
    EnsureRoom(text.size());
    std::memcpy(text_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }

  void Append(std::int64_t value) {
    EnsureRoom(kMaxInteger);
    char* at = text_.data() + size_;
    size_ = static_cast<std::size_t>(std::to_chars(at, at + kMaxInteger, value).ptr - text_.data());
  }

  // A list of integers as Python prints it, in quotes where CSV needs them: "[5, 9]" but [5].
  // value(i) is the i-th of `count`.
  template <typename Value>
  void AppendList(std::size_t count, Value value) {
    EnsureRoom(count * (kMaxInteger + 2) + 4);
    char* at = text_.data() + size_;
    if (count > 1) *at++ = '"';
    *at++ = '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) {
        *at++ = ',';
        *at++ = ' ';
      }
      at = std::to_chars(at, at + kMaxInteger, static_cast<std::int64_t>(value(i))).ptr;
    }
    *at++ = ']';
    if (count > 1) *at++ = '"';
    size_ = static_cast<std::size_t>(at - text_.data());
  }

  std::string_view view() const { return {text_.data(), size_}; }
  std::size_t size() const { return size_; }
  void Clear() { size_ = 0; }

 private:
  static constexpr std::size_t kMaxInteger = 20;  // characters of the longest, -9223372036854775808

  void EnsureRoom(std::size_t bytes) {
    if (text_.size() - size_ < bytes) text_.resize((size_ + bytes) * 3 / 2 + 64);
  }

  std::vector<char> text_;
  std::size_t size_ = 0;
};

}  // namespace hstu

#endif  // HSTU_DATA_TEXT_BUFFER_H_
