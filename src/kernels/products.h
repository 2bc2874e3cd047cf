// How bf16 is multiplied by bf16.
#ifndef HSTU_KERNELS_PRODUCTS_H_
#define HSTU_KERNELS_PRODUCTS_H_

#include <optional>
#include <string_view>

#include "base/cpu.h"
#include "hstu/hstu.hpp"
#include "tensor/dtype.h"

namespace hstu {

enum class Products {
  kF32,        // both are made f32
  kBF16Pairs,  // two at once, as AVX-512-BF16 does: sum = (sum + a1 * b1) + a0 * b0
  kBF16Tiles,  // kTileDepth at once, as AMX-BF16 does: kernels/bf16_tiles-inl.h
};

// Of k, in one product of tiles.
inline constexpr int kTileDepth = 32;

// How many of k go into one product.
constexpr int ProductDepth(Products products) {
  switch (products) {
    case Products::kF32:
      return 1;
    case Products::kBF16Pairs:
      return 2;
    case Products::kBF16Tiles:
      return kTileDepth;
  }
  return 1;
}

// The option's name: "off", "pairs", "tiles".
std::string_view NameOf(Products products);

// Whether the kernels of `isa` compute these here: those of kAvx512 by the processor's instruction
// alone, the others slowly without it.
bool CanMultiply(Products products, Isa isa);
// Whether the kernels of `isa` do so by an instruction, and faster than in f32.
bool IsFast(Products products, Isa isa);

// Of activations of that type with the layers' weights, and in attention, by the option's name or
// "auto". Errors (kBadArgument): an unknown name, activations in f32, a processor that can't.
Result<Products> ChooseProducts(std::string_view name, DType activations, Isa isa);

}  // namespace hstu

#endif  // HSTU_KERNELS_PRODUCTS_H_
