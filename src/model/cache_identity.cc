#include "model/cache_identity.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/hash.h"
#include "kernels/kv_blocks.h"
#include "model/fingerprint.h"
#include "model/safetensors.h"

namespace hstu {
namespace {

// Raised by every change that changes an answer's bits.
constexpr int64_t kNumericsVersion = 1;

constexpr int64_t kSampledRows = 1000;

// Rows at equal distances, the first and the last among them.
void AddRows(const WeightView& table, Hasher* hash) {
  const int64_t rows = table.shape[0];
  const size_t row_bytes = table.bytes().size() / static_cast<size_t>(rows);
  const int64_t sampled = std::min(rows, kSampledRows);
  for (int64_t i = 0; i < sampled; ++i) {
    const int64_t row = sampled == 1 ? 0 : i * (rows - 1) / (sampled - 1);
    hash->Add(table.data + static_cast<size_t>(row) * row_bytes, row_bytes);
  }
}

}  // namespace

std::string TablesFingerprint(const ModelFiles& model) {
  const MappedFile& file = model.weights_file();
  const Result<Safetensors> tensors = ParseSafetensors(file.bytes(), file.path());
  if (tensors.ok()) {
    const auto given = tensors->metadata.find("fingerprint");
    if (given != tensors->metadata.end()) return given->second;
  }
  Hasher hash;
  struct stat status {};
  if (stat(file.path().c_str(), &status) == 0) {
    hash.Add(int64_t{status.st_size});
    hash.Add(int64_t{status.st_mtim.tv_sec});
    hash.Add(int64_t{status.st_mtim.tv_nsec});
  }
  for (size_t i = 0; i < model.specs().size(); ++i) {
    if (model.specs()[i].role == TensorRole::kTable) AddRows(model.weights()[i], &hash);
  }
  return hash.Hex();
}

std::string CacheIdentity(const ModelFiles& model, const CacheNumerics& numerics) {
  Hasher hash;
  hash.Add(kNumericsVersion);
  hash.Add(Fingerprint(model));
  hash.Add(TablesFingerprint(model));
  hash.Add(numerics.isa);
  hash.Add(numerics.fused_ops);
  hash.Add(numerics.activation_type);
  hash.Add(static_cast<int64_t>(numerics.products));
  hash.Add(numerics.storage_type);
  hash.Add(numerics.page_tokens);
  hash.Add(int64_t{numerics.disable_context});
  hash.Add(numerics.embedding_operators);
  hash.Add(int64_t{kKeyChunk});
  hash.Add(int64_t{kPanelWidth});
  return hash.Hex();
}

}  // namespace hstu
