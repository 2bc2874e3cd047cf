// hstu compile: a model to a folder of artifacts.
#ifndef HSTU_COMPILE_BUILD_H_
#define HSTU_COMPILE_BUILD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compile/metadata.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct CompileOptions {
  std::string model;
  std::string out;  // is made; what it holds of an earlier run is used again
  // A bucket for each pair.
  std::vector<int64_t> seq_lens;
  std::vector<int64_t> batches;
  std::string dtype = "f32";
  std::string target = "native";
  bool kv_cache = false;
  int64_t page_size = 32;
  std::string kv_dtype;                // empty: that of the activations
  std::string bf16_products = "auto";  // see EngineOptions
  // The most tokens of a step: EngineOptions::max_step_tokens of the engine that will run it.
  int64_t step_tokens = kDefaultStepTokens;
  int threads = 0;  // compilers at a time; 0: one a processor
  // Operators that stay built in, to find out which compiled one is at fault.
  std::vector<std::string> fallback_ops;
};

struct CompileReport {
  Metadata metadata;
  int64_t objects = 0;         // compiled now
  int64_t objects_reused = 0;  // of an earlier run
  int64_t libraries = 0;
  int64_t libraries_reused = 0;
  bool weights_reused = false;
};

// Errors: those of the model, of options (kBadArgument), of files and the compiler (kIo).
Result<CompileReport> CompileModel(const CompileOptions& given);

// The share of kernels that may be fallbacks.
inline constexpr double kMostFallbacks = 0.05;

}  // namespace hstu

#endif  // HSTU_COMPILE_BUILD_H_
