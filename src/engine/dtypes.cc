#include "engine/dtypes.h"

#include <string>

#include "base/error.h"

namespace hstu {

Result<EngineDTypes> ParseDTypes(const EngineOptions& options) {
  if (options.dtype != "f32" && options.dtype != "bf16") {
    return MakeError(ErrorCode::kBadArgument, "dtype \"{}\": activations are f32 or bf16",
                     options.dtype);
  }
  const bool bf16 = options.dtype == "bf16";
  EngineDTypes dtypes{bf16 ? DType::kBF16 : DType::kF32, bf16 ? KvDType::kBF16 : KvDType::kF32};
  if (options.kv_dtype.empty()) return dtypes;
  const std::optional<KvDType> kv = KvDTypeFromName(options.kv_dtype);
  if (!kv.has_value()) {
    return MakeError(ErrorCode::kBadArgument,
                     "kv_dtype \"{}\": K and V are kept in f32, bf16, f16 or int8",
                     options.kv_dtype);
  }
  dtypes.kv = *kv;
  return dtypes;
}

}  // namespace hstu
