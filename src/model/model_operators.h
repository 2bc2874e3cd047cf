// Operators from libraries that a model's config asks for.
#ifndef HSTU_MODEL_MODEL_OPERATORS_H_
#define HSTU_MODEL_MODEL_OPERATORS_H_

#include <string>
#include <vector>

#include "hstu/hstu.hpp"
#include "hstu/operator.h"
#include "kernels/registry.h"
#include "model/config.h"
#include "tensor/view.h"

namespace hstu {

struct RowOperator {
  std::string name;
  std::string file;  // the library
  void (*run)(const hstuRowsArgs* args) = nullptr;
};

struct ModelOperators {
  std::vector<RowOperator> embedding;  // of all rows, as they enter the first layer
  std::vector<RowOperator> head;       // of candidates' rows, as they enter the head
};

// Those of the config among the registered ones. Errors (kBadArgument) name the key, the operator
// and what to do: one that nobody registers, one that a library doesn't offer, one of several
// inputs.
Result<ModelOperators> FindModelOperators(const ModelConfig& config,
                                          const OperatorRegistry& registry);

// Replaces rows [rows, cols] by the operator's. `scratch` [rows, cols] is used where they aren't
// f32: an operator computes in f32, what it returns is rounded to the rows' type.
void RunRowOperator(const RowOperator& op, const Activations& x, float* scratch);

// Of names and contents, for those that change what is cached. Errors: a file that can't be read.
Result<std::string> IdentityOf(const std::vector<RowOperator>& operators);

}  // namespace hstu

#endif  // HSTU_MODEL_MODEL_OPERATORS_H_
