#include "kernels/products.h"

#include "base/error.h"

namespace hstu {

std::string_view NameOf(Products products) {
  switch (products) {
    case Products::kF32:
      return "off";
    case Products::kBF16Pairs:
      return "pairs";
    case Products::kBF16Tiles:
      return "tiles";
  }
  return "";
}

bool CanMultiply(Products products, Isa isa) {
  if (isa != Isa::kAvx512) return true;
  switch (products) {
    case Products::kF32:
      return true;
    case Products::kBF16Pairs:
      return HasBF16Pairs();
    case Products::kBF16Tiles:
      return MayUseBF16Tiles();
  }
  return false;
}

bool IsFast(Products products, Isa isa) {
  if (products == Products::kF32) return true;
  if (isa != Isa::kAvx512 || !CanMultiply(products, isa)) return false;
  // Processors with tiles take twice as long for a pair as for a multiply-add of f32.
  return products == Products::kBF16Tiles || !HasBF16Tiles();
}

Result<Products> ChooseProducts(std::string_view name, DType activations, Isa isa) {
  const bool automatic = name == "auto";
  // The system is not asked for tiles that nothing will use.
  if (automatic && activations != DType::kBF16) return Products::kF32;
  for (const Products products : {Products::kBF16Tiles, Products::kBF16Pairs, Products::kF32}) {
    if (automatic ? !IsFast(products, isa) : name != NameOf(products)) continue;
    if (products == Products::kF32) return products;
    if (activations != DType::kBF16) {
      return MakeError(ErrorCode::kBadArgument, "bf16_products \"{}\" needs dtype bf16", name);
    }
    if (CanMultiply(products, isa)) return products;
    return MakeError(ErrorCode::kBadArgument,
                     "bf16_products \"{}\": the processor has no {}, or the system keeps it back; "
                     "isa avx2 gives the same products slowly",
                     name, products == Products::kBF16Tiles ? "AMX-BF16" : "AVX-512-BF16");
  }
  return MakeError(ErrorCode::kBadArgument, "bf16_products \"{}\": use auto, tiles, pairs or off",
                   name);
}

}  // namespace hstu
