// A model folder, loaded: config, mapped weights and vocabularies.
#ifndef HSTU_MODEL_WEIGHTS_H_
#define HSTU_MODEL_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "hstu/hstu.hpp"
#include "model/config.h"
#include "model/model_part.h"
#include "model/tensor_list.h"
#include "model/vocabulary.h"
#include "tensor/dtype.h"

namespace hstu {

// A tensor of the model file, dense by rows. It owns nothing: the ModelFiles must outlive it.
// `data` may have any alignment, as the format promises none: read it with LoadFloat(s), memcpy or
// unaligned vector loads.
struct WeightView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;

  std::int64_t num_elements() const;
  std::span<const std::byte> bytes() const;
};

// Where a feature's ids are looked up. Found once a feature, used once a token.
struct FeatureTable {
  std::string feature;
  std::string table;
  WeightView weight;  // [num_embeddings, C], mapped
  std::int64_t num_embeddings = 0;
  const Vocabulary* vocabulary = nullptr;  // null: ids are rows
  std::optional<std::int64_t> oov_row;

  // The row of an id; kIdOutOfRange where it has none.
  Result<std::int64_t> RowOf(std::int64_t id) const;
};

// config.json of a model folder.
Result<ModelConfig> ReadModelConfig(const std::string& folder);

class ModelFiles {
 public:
  // Reads config.json and the vocabularies of `folder`, maps model.safetensors and checks that it
  // has every tensor of the config in its shape and in F32, F16 or BF16; other tensors are
  // ignored. Embedding tables are not read, and have no read-ahead. Errors name the file.
  // With `part`, rows of split tables that other ranks hold are not mapped.
  static Result<ModelFiles> Load(const std::string& folder, const ModelPart& part = {});

  const ModelConfig& config() const { return config_; }
  const std::string& folder() const { return folder_; }
  const MappedFile& weights_file() const { return file_; }
  // The JSON header of model.safetensors.
  std::string_view safetensors_header() const { return header_; }

  // The tensors that the config needs, in the order of ListTensors.
  std::span<const TensorSpec> specs() const { return specs_; }
  std::span<const WeightView> weights() const { return weights_; }
  // The weight of a name in ListTensors; null for any other.
  const WeightView* Find(std::string_view name) const;

  // Every feature of every table; null for an unknown one.
  const FeatureTable* FindFeature(std::string_view feature) const;
  const FeatureTable& item() const { return *FindFeature(config_.item_feature); }
  // Null where the model has no actions.
  const FeatureTable* action() const;
  // In the order of contextual_features.
  std::vector<const FeatureTable*> contextual() const;

  // By table; null where its ids are rows.
  std::span<const std::unique_ptr<Vocabulary>> vocabularies() const { return vocabularies_; }

 private:
  ModelFiles(std::string folder, ModelConfig config, MappedFile file);
  Status MapWeights(const ModelPart& part);
  void UnmapOthersRows(const WeightView& table, const ModelPart& part);
  Status ReadVocabularies();
  void ListFeatures();

  std::string folder_;
  ModelConfig config_;
  MappedFile file_;
  std::string_view header_;
  std::vector<TensorSpec> specs_;
  std::vector<WeightView> weights_;
  std::vector<std::unique_ptr<Vocabulary>> vocabularies_;
  std::vector<FeatureTable> features_;
};

}  // namespace hstu

#endif  // HSTU_MODEL_WEIGHTS_H_
