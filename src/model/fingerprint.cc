#include "model/fingerprint.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace hstu {
std::string Fingerprint(const ModelFiles& model) {
  Hasher hash;
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
