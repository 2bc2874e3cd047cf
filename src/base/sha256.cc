#include "base/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <iterator>

namespace hstu {

std::string Sha256(std::span<const std::byte> bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    fmt::format_to(std::back_inserter(text), "{:02x}", digest[i]);
  }
  return text;
}

}  // namespace hstu
