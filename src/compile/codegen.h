// C++ for exactly one model: each kernel is the built-in one with the model's sizes, types and
// options as constants.
//
// A generated file copies a call's arguments, overwrites what never changes with this model, and
// calls the body of the built-in operator (kernels/x-inl.h), which the compiler then specialises.
// So the order of every sum is the built-in's.
#ifndef HSTU_COMPILE_CODEGEN_H_
#define HSTU_COMPILE_CODEGEN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compile/graph.h"
#include "compile/step_plan.h"
#include "kernels/products.h"
#include "model/weights.h"
#include "tensor/dtype.h"
#include "tensor/kv_dtype.h"

namespace hstu {

// What is fixed beside the model.
struct Specialization {
  DType dtype = DType::kF32;  // of activations
  KvDType kv_dtype = KvDType::kF32;
  Products products = Products::kF32;  // of the layers
  int64_t page_size = 32;
  // Compile the two halves of attention between which threads share the keys of few rows.
  bool kv_cache = false;
};

struct GeneratedFile {
  std::string name;  // without suffix
  std::string text;
};

// Code of the operators `ops`, in a few files that compile side by side.
std::vector<GeneratedFile> GenerateKernels(const ModelFiles& files,
                                           const Specialization& specialization,
                                           const std::vector<std::string>& ops);

// Whether there is generated code for an operator.
bool HasGenerator(std::string_view op);

// The file with the bucket's constants and its table of kernels; those not in `ops` are built in.
std::string GenerateBucket(int64_t seq_len, int64_t batch, const StepPlan& plan,
                           const Specialization& specialization,
                           const std::vector<std::string>& ops);

}  // namespace hstu

#endif  // HSTU_COMPILE_CODEGEN_H_
