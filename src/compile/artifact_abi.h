// What the shared object of a bucket exports: one symbol, hstu_artifact.
#ifndef HSTU_COMPILE_ARTIFACT_ABI_H_
#define HSTU_COMPILE_ARTIFACT_ABI_H_

#include <cstdint>

#include "kernels/operator_table.h"

namespace hstu {

inline constexpr uint64_t kArtifactMagic = 0x747261757473'68ull;  // "hstuart", little-endian
inline constexpr const char* kArtifactSymbol = "hstu_artifact";

// Plain data and functions; nothing of the C++ library crosses the border. `abi` tells a hash of
// the sources of all kernels and of this file, so that no other layout of arguments gets called.
struct ArtifactBucket {
  uint64_t magic;
  const char* abi;
  int64_t seq_len;
  int64_t batch;
  // The StepPlan.
  int64_t rows;
  int64_t arena_bytes;
  int64_t num_stages;
  const int64_t* x;     // [num_stages]
  const int64_t* uvqk;  // [num_stages]
  int64_t logits;
  Operators kernels;  // null: the built-in operator
};

}  // namespace hstu

#endif  // HSTU_COMPILE_ARTIFACT_ABI_H_
