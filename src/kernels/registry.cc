#include "kernels/registry.h"

#include <utility>

#include "base/error.h"

namespace hstu {

AnyFunction OperatorInfo::Variant(std::string_view variant) const {
  for (const OperatorVariant& candidate : variants) {
    if (candidate.name == variant) return candidate.function;
  }
  return nullptr;
}

Status OperatorRegistry::Add(OperatorInfo info) {
  if (const OperatorInfo* other = Find(info.name)) {
    return MakeError(ErrorCode::kBadArgument,
                     "operator {} is registered by {} and by {}: rename one of them", info.name,
                     other->origin, info.origin);
  }
  operators_.push_back(std::move(info));
  return {};
}

const OperatorInfo* OperatorRegistry::Find(std::string_view name) const {
  for (const OperatorInfo& info : operators_) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace hstu
