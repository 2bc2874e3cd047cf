// The element types that an engine computes and keeps in.
#ifndef HSTU_ENGINE_DTYPES_H_
#define HSTU_ENGINE_DTYPES_H_

#include "base/cpu.h"
#include "hstu/hstu.hpp"
#include "kernels/panel.h"
#include "tensor/dtype.h"
#include "tensor/kv_dtype.h"

namespace hstu {

struct EngineDTypes {
  DType activations = DType::kF32;  // f32 or bf16
  KvDType kv = KvDType::kF32;       // of K and V, in steps and in the cache
};

// Errors (kBadArgument) name the option, the value and what there is.
Result<EngineDTypes> ParseDTypes(const EngineOptions& options);

// Of bf16 activations with the layers' weights, and in attention. Errors (kBadArgument): what
// bf16_products asks for needs other activations, another instruction set, or no artifacts.
Result<Products> ChooseProducts(const EngineOptions& options, DType activations, Isa isa);

}  // namespace hstu

#endif  // HSTU_ENGINE_DTYPES_H_
