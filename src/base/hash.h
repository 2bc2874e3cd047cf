// XXH3: fingerprints of 128 bits, and checksums of 64.
#ifndef HSTU_BASE_HASH_H_
#define HSTU_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace hstu {

// Hashes a list of parts. Each part's size goes first, so that no two lists hash the same bytes.
class Hasher {
 public:
  Hasher();

  void Add(const void* data, std::size_t size);
  void Add(std::string_view text) { Add(text.data(), text.size()); }
  void Add(std::span<const std::int64_t> values) { Add(values.data(), values.size_bytes()); }
  void Add(std::int64_t value) { Add(&value, sizeof(value)); }

  // 32 hexadecimal digits.
  std::string Hex() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// Tells torn and flipped bytes from what was written.
std::uint64_t Checksum(std::span<const std::byte> bytes);
inline std::uint64_t Checksum(std::string_view text) {
  return Checksum(std::as_bytes(std::span(text)));
}

}  // namespace hstu

#endif  // HSTU_BASE_HASH_H_
