// Text that is built of many small pieces, quickly.
#ifndef HSTU_DATA_TEXT_BUFFER_H_
#define HSTU_DATA_TEXT_BUFFER_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hstu {

// Writes `value` in decimal to `to`, which has room for kMaxIntegerText characters, and returns the
// end. Whatever lies beyond the end may be overwritten.
inline constexpr std::size_t kMaxIntegerText = 24;  // the longest has 20, written in eights
char* WriteInteger(std::int64_t value, char* to);

class TextBuffer {
 public:
  void Append(std::string_view text) {
    EnsureRoom(text.size());
    std::memcpy(text_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }

  void Append(std::int64_t value) {
    EnsureRoom(kMaxIntegerText);
    size_ = static_cast<std::size_t>(WriteInteger(value, text_.data() + size_) - text_.data());
  }

  // A list of integers as Python prints it, in quotes where CSV needs them: "[5, 9]" but [5].
  // value(i) is the i-th of `count`.
  template <typename Value>
  void AppendList(std::size_t count, Value value) {
    EnsureRoom(count * (kMaxIntegerText + 2) + 4);
    char* at = text_.data() + size_;
    if (count > 1) *at++ = '"';
    *at++ = '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) {
        *at++ = ',';
        *at++ = ' ';
      }
      at = WriteInteger(static_cast<std::int64_t>(value(i)), at);
    }
    *at++ = ']';
    if (count > 1) *at++ = '"';
    size_ = static_cast<std::size_t>(at - text_.data());
  }

  std::string_view view() const { return {text_.data(), size_}; }
  std::size_t size() const { return size_; }
  void Clear() { size_ = 0; }

 private:
  void EnsureRoom(std::size_t bytes) {
    if (text_.size() - size_ < bytes) text_.resize((size_ + bytes) * 3 / 2 + 64);
  }

  std::vector<char> text_;
  std::size_t size_ = 0;
};

namespace internal {

// Eight digits of `value`, leading zeros included, the first in the lowest byte: halves, then
// quarters, then single digits, all of a kind at once. Quotients by 100 and by 10 are products that
// are exact below 10000 and 100.
inline std::uint64_t EightDigits(std::uint32_t value) {
  std::uint64_t fours = value / 10000 | (std::uint64_t{value % 10000} << 32);
  std::uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
  std::uint64_t twos = hundreds | ((fours - 100 * hundreds) << 16);
  std::uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
  return tens | ((twos - 10 * tens) << 8);
}

constexpr std::uint64_t kZeros = 0x3030303030303030;  // "00000000"

inline char* WriteEight(std::uint32_t value, char* to) {
  std::uint64_t text = EightDigits(value) | kZeros;
  std::memcpy(to, &text, sizeof(text));
  return to + 8;
}

inline char* WriteWithoutZeros(std::uint32_t value, char* to) {
  std::uint64_t digits = EightDigits(value);
  int zeros = std::countr_zero(digits | std::uint64_t{1} << 56) / 8;  // the last digit stays
  std::uint64_t text = (digits | kZeros) >> (8 * zeros);
  std::memcpy(to, &text, sizeof(text));
  return to + 8 - zeros;
}

}  // namespace internal

inline char* WriteInteger(std::int64_t value, char* to) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEight = 100'000'000;
  auto left = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *to++ = '-';
    left = 0 - left;
  }
  if (left < kEight) return internal::WriteWithoutZeros(static_cast<std::uint32_t>(left), to);
  auto low = static_cast<std::uint32_t>(left % kEight);
  left /= kEight;
  if (left < kEight) {
    to = internal::WriteWithoutZeros(static_cast<std::uint32_t>(left), to);
  } else {
    to = internal::WriteWithoutZeros(static_cast<std::uint32_t>(left / kEight), to);
    to = internal::WriteEight(static_cast<std::uint32_t>(left % kEight), to);
  }
  return internal::WriteEight(low, to);
}

}  // namespace hstu

#endif  // HSTU_DATA_TEXT_BUFFER_H_
