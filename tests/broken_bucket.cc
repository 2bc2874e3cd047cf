// A bucket's library that is broken on purpose: it hands out another one's kernels, found beside it
// under the name with "whole_" in front, and spoils what FAULT says. Compiled by accept_test.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compile/artifact_abi.h"

extern "C" hstu::ArtifactBucket hstu_artifact;
hstu::ArtifactBucket hstu_artifact;

namespace {

using namespace hstu;  // NOLINT

Operators whole;

// The bias of the next column.
void WrongOffset(const InLinearSiluArgs& args) {
  InLinearSiluArgs wrong = args;
  wrong.bias = args.bias + 1;
  whole.in_linear_silu(wrong);
}

void Bf16Sums(const LayerNormArgs& args) {
  whole.layer_norm(args);
  for (int64_t row = 0; row < args.out.rows; ++row) {
    for (int64_t i = 0; i < args.out.cols; ++i) {
      float& value = args.out.Row(row)[i];
      value = FloatFromBF16(BF16FromFloat(value));
    }
  }
}

void Slow(const L2NormArgs& args) {
  usleep(20000);
  whole.l2_norm(args);
}

// Slow when another library's step ran before.
void SlowSwitch(const L2NormArgs& args) {
  const std::string own = std::to_string(reinterpret_cast<uintptr_t>(&hstu_artifact));
  const char* last = std::getenv("HSTU_LAST_BUCKET");
  if (last == nullptr || own != last) usleep(20000);
  setenv("HSTU_LAST_BUCKET", own.c_str(), 1);
  whole.l2_norm(args);
}

// Right until something was evicted.
void ForgetsEvictions(const HstuAttentionArgs& args) {
  whole.hstu_attention(args);
  if (args.mask.history_begin == 0) return;
  for (int64_t row = 0; row < args.out.rows; ++row) args.out.RowAs<float>(row)[0] = 0.0f;
}

void TakeMemory() {
  constexpr size_t kBytes = size_t{400} << 20;
  auto* memory = static_cast<volatile char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
}

__attribute__((constructor)) void Load() {
  Dl_info self;
  dladdr(&hstu_artifact, &self);
  std::string path = self.dli_fname;
  path.insert(path.rfind('/') + 1, "whole_");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  hstu_artifact = *static_cast<ArtifactBucket*>(dlsym(library, kArtifactSymbol));
  whole = hstu_artifact.kernels;
  Operators& kernels = hstu_artifact.kernels;
  const std::string fault = FAULT;
  if (fault == "offset") kernels.in_linear_silu = WrongOffset;
  if (fault == "bf16") kernels.layer_norm = Bf16Sums;
  if (fault == "slow") kernels.l2_norm = Slow;
  if (fault == "switch") kernels.l2_norm = SlowSwitch;
  if (fault == "eviction") kernels.hstu_attention = ForgetsEvictions;
  if (fault == "start") usleep(700000);
  if (fault == "memory") TakeMemory();
}

}  // namespace
