#include "model/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace hstu {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_128bits_reset(state_.get()); }

  // The size goes first, so that no two lists of parts hash the same bytes.
  void Add(const void* data, std::size_t size) {
    const std::uint64_t prefix = size;
    XXH3_128bits_update(state_.get(), &prefix, sizeof(prefix));
    XXH3_128bits_update(state_.get(), data, size);
  }
  void Add(std::string_view text) { Add(text.data(), text.size()); }
  void Add(std::span<const std::int64_t> values) { Add(values.data(), values.size_bytes()); }

  std::string Hex() const {
    const XXH128_hash_t digest = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace

std::string Fingerprint(const ModelFiles& model) {
  Hash hash;
  hash.Add(ToJson(model.config()).dump());
  hash.Add(model.safetensors_header());
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const WeightView& weight = model.weights()[i];
    hash.Add(model.specs()[i].name);
    hash.Add(weight.shape);
    if (model.specs()[i].role == TensorRole::kTable) continue;
    hash.Add(weight.data, weight.bytes().size());
  }
  for (const auto& vocabulary : model.vocabularies()) {
    if (vocabulary != nullptr) hash.Add(vocabulary->ids());
  }
  return hash.Hex();
}

}  // namespace hstu
