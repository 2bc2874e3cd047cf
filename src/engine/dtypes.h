// The element types that an engine computes and keeps in.
#ifndef HSTU_ENGINE_DTYPES_H_
#define HSTU_ENGINE_DTYPES_H_

#include "hstu/hstu.hpp"
#include "tensor/dtype.h"
#include "tensor/kv_dtype.h"

namespace hstu {

struct EngineDTypes {
  DType activations = DType::kF32;  // f32 or bf16
  KvDType kv = KvDType::kF32;       // of K and V, in steps and in the cache
};

// Errors (kBadArgument) name the option, the value and what there is.
Result<EngineDTypes> ParseDTypes(const EngineOptions& options);

}  // namespace hstu

#endif  // HSTU_ENGINE_DTYPES_H_
