#include "engine/dtypes.h"

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

Result<Products> ChooseProducts(const EngineOptions& options, DType activations, Isa isa) {
  const bool possible = activations == DType::kBF16 && options.artifacts.empty();
  if (options.bf16_products == "auto") {
    return possible && HasBF16Instruction(isa) ? Products::kBF16Pairs : Products::kF32;
  }
  if (options.bf16_products == "off") return Products::kF32;
  if (options.bf16_products != "on") {
    return MakeError(ErrorCode::kBadArgument, "bf16_products \"{}\": use auto, on or off",
                     options.bf16_products);
  }
  if (!possible) {
    return MakeError(
        ErrorCode::kBadArgument,
        "bf16_products \"on\" needs dtype bf16 and no artifacts, which compute in f32");
  }
  if (!CanMultiplyBF16Pairs(isa)) {
    return MakeError(ErrorCode::kBadArgument,
                     "bf16_products \"on\": this processor has no AVX-512-BF16; isa avx2 gives the "
                     "same products slowly");
  }
  return Products::kBF16Pairs;
}

}  // namespace hstu
