// A random model: for tests, benchmarks, and to try a config before it is trained.
#ifndef HSTU_MODEL_INIT_MODEL_H_
#define HSTU_MODEL_INIT_MODEL_H_

#include <cstdint>
#include <string>

#include "hstu/hstu.hpp"
#include "model/config.h"
#include "tensor/dtype.h"

namespace hstu {

struct InitOptions {
  std::uint64_t seed = 1;
  DType dtype = DType::kF32;        // of the weights
  DType table_dtype = DType::kF32;  // of the embedding tables
};

// Writes config.json and model.safetensors into `folder`, which is made where it is missing; each
// file appears whole or not at all. The same config, seed and dtypes give the same bytes on every
// machine. Weights are near normal, scaled by 1/sqrt(inputs); tables by 0.3, norms are near 1.
// Vocabularies are not written: the caller must put them there.
Status WriteRandomModel(const ModelConfig& config, const InitOptions& options,
                        const std::string& folder);

}  // namespace hstu

#endif  // HSTU_MODEL_INIT_MODEL_H_
