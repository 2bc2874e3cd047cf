// The operators by name: where each comes from and which variants it has.
#ifndef HSTU_KERNELS_REGISTRY_H_
#define HSTU_KERNELS_REGISTRY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// A function of the operator's own type (HstuAttentionFn, ...), which its header gives.
using AnyFunction = void (*)();

struct OperatorVariant {
  std::string name;  // an instruction set, or "plain": the scalar reference
  AnyFunction function;
};

// The variant of an operator from a library, a row operator: include/hstu/operator.h.
inline constexpr const char* kLibraryVariant = "library";

struct OperatorInfo {
  std::string name;
  std::string origin;  // the file that registers it
  std::string summary;
  std::vector<OperatorVariant> variants;
  int64_t num_inputs = 0;  // of a row operator

  // Null where there is none of that name.
  AnyFunction Variant(std::string_view variant) const;
};

class OperatorRegistry {
 public:
  // Two operators of one name are an error (kBadArgument) that names both origins: neither wins.
  Status Add(OperatorInfo info);

  const OperatorInfo* Find(std::string_view name) const;
  // In the order of registration.
  const std::vector<OperatorInfo>& operators() const { return operators_; }

 private:
  std::vector<OperatorInfo> operators_;
};

}  // namespace hstu

#endif  // HSTU_KERNELS_REGISTRY_H_
