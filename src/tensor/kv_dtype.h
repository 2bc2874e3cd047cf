// Element types in which K and V are kept.
#ifndef HSTU_TENSOR_KV_DTYPE_H_
#define HSTU_TENSOR_KV_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hstu {

// kInt8 has one scale a page and head; the page that still fills up is kept in f32 beside it.
enum class KvDType { kF32, kBF16, kF16, kInt8 };

constexpr int64_t SizeOf(KvDType dtype) {
  return dtype == KvDType::kF32 ? 4 : dtype == KvDType::kInt8 ? 1 : 2;
}

constexpr const char* NameOf(KvDType dtype) {
  switch (dtype) {
    case KvDType::kF32:
      return "f32";
    case KvDType::kBF16:
      return "bf16";
    case KvDType::kF16:
      return "f16";
    case KvDType::kInt8:
      return "int8";
  }
  return "unknown";
}

// From that name; nothing for any other.
constexpr std::optional<KvDType> KvDTypeFromName(std::string_view name) {
  for (const KvDType dtype : {KvDType::kF32, KvDType::kBF16, KvDType::kF16, KvDType::kInt8}) {
    if (name == NameOf(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace hstu

#endif  // HSTU_TENSOR_KV_DTYPE_H_
