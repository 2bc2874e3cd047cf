// metadata.json of an artifacts folder: what was compiled, from what and for what.
#ifndef HSTU_COMPILE_METADATA_H_
#define HSTU_COMPILE_METADATA_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

inline constexpr int64_t kMetadataVersion = 1;
inline constexpr int64_t kDefaultStepTokens = 8192;
inline constexpr const char* kMetadataFile = "metadata.json";

struct BucketRecord {
  int64_t seq_len = 0;  // tokens computed for the longest sequence, at most
  int64_t batch = 0;    // sequences, at most
  int64_t rows = 0;     // tokens of a step, at most
  std::string library;  // a file in the folder
  std::string sha256;   // of it
  int64_t arena_bytes = 0;
  std::string key;  // of all that it was made of: the same key, the same library
};

// A kernel in a bucket, with the largest shapes that it sees.
struct KernelRecord {
  std::string name;
  std::string op;
  int64_t seq_len = 0;
  int64_t batch = 0;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<std::vector<int64_t>> outputs;
  bool fallback = false;  // the built-in operator runs in its place
  std::string reason;     // why; empty where it doesn't
};

struct WeightsRecord {
  std::string file;
  int64_t bytes = 0;
  std::string xxh3;  // of its bytes, see Hasher
};

struct Metadata {
  std::string model_fingerprint;
  std::string abi;
  std::string compiler;
  std::string target;
  std::string dtype;
  std::string kv_dtype;
  std::string bf16_products;  // "off", "pairs" or "tiles"
  int64_t page_size = 0;
  bool kv_cache = false;    // has what shares a long cached history's keys between threads
  int64_t step_tokens = 0;  // see CompileOptions
  WeightsRecord weights;
  std::vector<BucketRecord> buckets;
  std::vector<KernelRecord> kernels;

  int64_t NumFallbacks() const;
  double FallbackShare() const;  // of all kernels
};

nlohmann::ordered_json ToJson(const Metadata& metadata);

// Errors (kBadData) name `file_name`, the key and what is wrong with it. Unknown keys are ignored.
Result<Metadata> ParseMetadata(std::string_view text, std::string_view file_name);

// The command that makes these artifacts again.
std::string RebuildCommand(const Metadata& metadata, const std::string& model,
                           const std::string& out);

}  // namespace hstu

#endif  // HSTU_COMPILE_METADATA_H_
