// SHA-256, by which anyone can check a file: `sha256sum` prints the same digits.
#ifndef HSTU_BASE_SHA256_H_
#define HSTU_BASE_SHA256_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace hstu {

// 64 hexadecimal digits.
std::string Sha256(std::span<const std::byte> bytes);
inline std::string Sha256(std::string_view text) { return Sha256(std::as_bytes(std::span(text))); }

}  // namespace hstu

#endif  // HSTU_BASE_SHA256_H_
