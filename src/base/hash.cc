#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace hstu {

void Hasher::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Hasher::Hasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

void Hasher::Add(const void* data, std::size_t size) {
  const std::uint64_t prefix = size;
  XXH3_128bits_update(state_.get(), &prefix, sizeof(prefix));
  XXH3_128bits_update(state_.get(), data, size);
}

std::string Hasher::Hex() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

std::uint64_t Checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace hstu
