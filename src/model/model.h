// A loaded model, ready to run: packed dense weights, mapped embedding tables.
#ifndef HSTU_MODEL_MODEL_H_
#define HSTU_MODEL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/mapped_file.h"
#include "hstu/hstu.hpp"
#include "kernels/embed_tokens.h"
#include "model/dense_weights.h"
#include "model/model_part.h"
#include "model/weights.h"

namespace hstu {

class Model {
 public:
  // Errors (kBadModel) name file, tensor or key.
  // `part`: what one of several ranks holds. Its config() then has the rank's own heads alone.
  static Result<Model> Load(const std::string& folder, const ModelPart& part = {});
  // Of files that were loaded with the same part; `products`: of the layers.
  static Model Pack(ModelFiles files, const ModelPart& part = {},
                    Products products = Products::kF32);
  // With dense weights that PackDenseWeights packed into a file, which is mapped. Errors
  // (kBadModel): its size is not that of these files' weights.
  static Result<Model> LoadPacked(ModelFiles files, const ModelPart& part, Products products,
                                  MappedFile packed);

  const ModelFiles& files() const { return files_; }
  const ModelConfig& config() const { return config_; }
  const ModelPart& part() const { return part_; }
  Products products() const { return products_; }
  const std::vector<LayerWeights>& layers() const { return dense_.layers; }
  const std::vector<HeadLayer>& head() const { return dense_.head; }
  RowTable item_table() const { return item_table_; }
  RowTable action_table() const { return action_table_; }  // without data: the model has none
  const std::vector<RowTable>& contextual_tables() const { return contextual_tables_; }
  RowTable position_table() const { return position_table_; }

  // Bytes of the dense weights as they are held.
  std::int64_t packed_bytes() const { return packed_bytes_; }

 private:
  Model(ModelFiles files, const ModelPart& part, Products products);
  void FindTables();

  ModelFiles files_;
  ModelPart part_;
  Products products_;                 // of activations and the layers' weights
  ModelConfig config_;                // of this part
  AlignedArray<std::byte> block_;     // where this process packed
  std::optional<MappedFile> mapped_;  // where they came packed
  std::int64_t packed_bytes_ = 0;
  DenseWeights dense_;
  RowTable item_table_;
  RowTable action_table_;
  std::vector<RowTable> contextual_tables_;
  RowTable position_table_;
};

}  // namespace hstu

#endif  // HSTU_MODEL_MODEL_H_
