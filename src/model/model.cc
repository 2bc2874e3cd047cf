#include "model/model.h"

#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

RowTable TableOf(const WeightView& weight) { return {weight.data, weight.dtype}; }

}  // namespace

Result<Model> Model::Load(const std::string& folder, const ModelPart& part) {
  HSTU_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Load(folder, part));
  return Pack(std::move(files), part);
}

Model Model::Pack(ModelFiles files, const ModelPart& part, Products products) {
  Model model(std::move(files), part, products);
  model.block_ = AllocateAligned<std::byte>(model.packed_bytes_);
  PackDenseWeights(model.files_, part, products, model.block_.get());
  model.dense_ = ViewDenseWeights(model.files_, part, products, model.block_.get());
  return model;
}

Result<Model> Model::LoadPacked(ModelFiles files, const ModelPart& part, Products products,
                                MappedFile packed) {
  Model model(std::move(files), part, products);
  if (static_cast<std::int64_t>(packed.bytes().size()) != model.packed_bytes_) {
    return MakeError(ErrorCode::kBadModel, "{}: it has {} bytes, the model's packed weights {}",
                     packed.path(), packed.bytes().size(), model.packed_bytes_);
  }
  model.dense_ = ViewDenseWeights(model.files_, part, model.products_, packed.bytes().data());
  model.mapped_ = std::move(packed);
  return model;
}

Model::Model(ModelFiles files, const ModelPart& part, Products products)
    : files_(std::move(files)),
      part_(part),
      products_(products),
      config_(files_.config()),
      packed_bytes_(DenseWeightBytes(files_, part, products)) {
  config_.num_attention_heads /= part_.head_ranks;
  FindTables();
}

void Model::FindTables() {
  item_table_ = TableOf(files_.item().weight);
  if (files_.action() != nullptr) action_table_ = TableOf(files_.action()->weight);
  for (const FeatureTable* feature : files_.contextual()) {
    contextual_tables_.push_back(TableOf(feature->weight));
  }
  position_table_ = TableOf(*files_.Find("position.weight"));
}

}  // namespace hstu
