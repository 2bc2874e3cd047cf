// A loaded model, ready to run: packed dense weights, mapped embedding tables.
#ifndef HSTU_MODEL_MODEL_H_
#define HSTU_MODEL_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hstu/hstu.hpp"
#include "kernels/embed_tokens.h"
#include "kernels/panel.h"
#include "model/weights.h"

namespace hstu {

struct LayerWeights {
  std::vector<float> input_norm_weight;   // [C]
  std::vector<float> input_norm_bias;     // [C]
  PackedMatrix uvqk;                      // [4HD, C]
  std::vector<float> uvqk_bias;           // [4HD]
  std::vector<float> output_norm_weight;  // [HD]
  std::vector<float> output_norm_bias;    // [HD]
  PackedMatrix proj;                      // [C, HD]
};

struct HeadLayer {
  PackedMatrix weight;      // [out, in]
  std::vector<float> bias;  // [out]; zeros where the head has none
};

class Model {
 public:
  // Errors (kBadModel) name file, tensor or key.
  static Result<Model> Load(const std::string& folder);

  const ModelFiles& files() const { return files_; }
  const ModelConfig& config() const { return files_.config(); }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  const std::vector<HeadLayer>& head() const { return head_; }
  RowTable item_table() const { return item_table_; }
  RowTable action_table() const { return action_table_; }  // without data: the model has none
  const std::vector<RowTable>& contextual_tables() const { return contextual_tables_; }
  RowTable position_table() const { return position_table_; }

  // Bytes of the dense weights as they are held.
  std::int64_t packed_bytes() const;

 private:
  explicit Model(ModelFiles files);

  ModelFiles files_;
  std::vector<LayerWeights> layers_;
  std::vector<HeadLayer> head_;
  RowTable item_table_;
  RowTable action_table_;
  std::vector<RowTable> contextual_tables_;
  RowTable position_table_;
};

}  // namespace hstu

#endif  // HSTU_MODEL_MODEL_H_
