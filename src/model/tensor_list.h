// The tensors that a model of some config has: one list for loading, making and describing models.
#ifndef HSTU_MODEL_TENSOR_LIST_H_
#define HSTU_MODEL_TENSOR_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace hstu {

enum class TensorRole {
  kTable,   // an embedding table: stays mapped, looked up row by row
  kMatrix,  // a linear map's weight [out, in]
  kBias,
  kNormWeight,
  kNormBias,
  kPosition,
};

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorRole role;

  std::int64_t num_elements() const;
};

// In the order of the computation: tables, position, layers, head. docs/model-format.md has the
// names and shapes.
std::vector<TensorSpec> ListTensors(const ModelConfig& config);

}  // namespace hstu

#endif  // HSTU_MODEL_TENSOR_LIST_H_
