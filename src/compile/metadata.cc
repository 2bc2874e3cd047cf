#include "compile/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace hstu {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostBuckets = 4096;
constexpr int64_t kMostTokens = int64_t{1} << 40;

ordered_json BucketJson(const BucketRecord& bucket) {
  return {{"seq_len", bucket.seq_len}, {"batch", bucket.batch},
          {"rows", bucket.rows},       {"library", bucket.library},
          {"sha256", bucket.sha256},   {"arena_bytes", bucket.arena_bytes},
          {"key", bucket.key}};
}

ordered_json KernelJson(const KernelRecord& kernel) {
  return {{"name", kernel.name},
          {"op", kernel.op},
          {"seq_len", kernel.seq_len},
          {"batch", kernel.batch},
          {"inputs", kernel.inputs},
          {"outputs", kernel.outputs},
          {"fallback", kernel.fallback},
          {"reason", kernel.fallback ? ordered_json(kernel.reason) : ordered_json(nullptr)}};
}

// Takes members of an object by name; the first that is wrong is remembered, and what follows is
// not looked at.
class Reader {
 public:
  Reader(const json& object, std::string place, std::string_view file)
      : object_(object), place_(std::move(place)), file_(file) {
    if (!object.is_object()) Fail("", "is no object");
  }

  Status status() const { return status_; }

  void Text(const char* key, std::string* value) {
    const json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_string()) return Fail(key, "is no string");
    *value = member->get<std::string>();
  }
  // A file of the folder itself: a name that leads elsewhere is refused.
  void FileName(const char* key, std::string* value) {
    Text(key, value);
    if (!status_.ok()) return;
    const bool plain = !value->empty() && value->front() != '.' &&
                       value->find('/') == std::string::npos &&
                       value->find('\0') == std::string::npos;
    if (!plain) Fail(key, "is no name of a file in the folder");
  }
  void Integer(const char* key, int64_t least, int64_t* value) {
    const json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_number_integer()) return Fail(key, "is no integer");
    if (member->is_number_unsigned() && member->get<uint64_t>() > uint64_t{kMostTokens}) {
      return Fail(key, "is too large");
    }
    *value = member->get<int64_t>();
    if (*value < least) Fail(key, "is too small");
  }
  void Bool(const char* key, bool* value) {
    const json* member = Find(key);
    if (member == nullptr) return;
    if (!member->is_boolean()) return Fail(key, "is neither true nor false");
    *value = member->get<bool>();
  }
  // Null where it is none.
  const json* Array(const char* key, std::size_t most) {
    const json* member = Find(key);
    if (member == nullptr) return nullptr;
    if (!member->is_array()) return Fail(key, "is no list"), nullptr;
    if (member->size() > most) return Fail(key, "is too long"), nullptr;
    return member;
  }
  const json* Find(const char* key) {
    if (!status_.ok()) return nullptr;
    const auto found = object_.find(key);
    if (found == object_.end()) return Fail(key, "is missing"), nullptr;
    return &*found;
  }
  void Fail(std::string_view key, std::string_view what) {
    status_ = MakeError(ErrorCode::kBadData, "{}: {}{}{} {}", file_, place_,
                        place_.empty() || key.empty() ? "" : ".", key, what);
  }

 private:
  const json& object_;
  const std::string place_;
  const std::string_view file_;
  Status status_;
};

Result<BucketRecord> ReadBucket(const json& value, std::size_t index, std::string_view file) {
  Reader reader(value, fmt::format("buckets[{}]", index), file);
  BucketRecord bucket;
  reader.Integer("seq_len", 1, &bucket.seq_len);
  reader.Integer("batch", 1, &bucket.batch);
  reader.Integer("rows", 1, &bucket.rows);
  reader.FileName("library", &bucket.library);
  reader.Text("sha256", &bucket.sha256);
  reader.Integer("arena_bytes", 0, &bucket.arena_bytes);
  reader.Text("key", &bucket.key);
  HSTU_RETURN_IF_ERROR(reader.status());
  return bucket;
}

bool AreShapes(const json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& shape) {
           return shape.is_array() && std::all_of(shape.begin(), shape.end(), [](const json& size) {
                    return size.is_number_integer();
                  });
         });
}

Result<KernelRecord> ReadKernel(const json& value, std::size_t index, std::string_view file) {
  Reader reader(value, fmt::format("kernels[{}]", index), file);
  KernelRecord kernel;
  reader.Text("name", &kernel.name);
  reader.Text("op", &kernel.op);
  reader.Integer("seq_len", 1, &kernel.seq_len);
  reader.Integer("batch", 1, &kernel.batch);
  reader.Bool("fallback", &kernel.fallback);
  for (const auto& [key, shapes] :
       {std::pair("inputs", &kernel.inputs), std::pair("outputs", &kernel.outputs)}) {
    const json* member = reader.Find(key);
    if (member == nullptr) continue;
    if (AreShapes(*member)) {
      *shapes = member->get<std::vector<std::vector<int64_t>>>();
    } else {
      reader.Fail(key, "is no list of shapes");
    }
  }
  if (kernel.fallback) reader.Text("reason", &kernel.reason);
  HSTU_RETURN_IF_ERROR(reader.status());
  return kernel;
}

Result<WeightsRecord> ReadWeights(const json& value, std::string_view file) {
  Reader reader(value, "weights", file);
  WeightsRecord weights;
  reader.FileName("file", &weights.file);
  reader.Integer("bytes", 0, &weights.bytes);
  reader.Text("xxh3", &weights.xxh3);
  HSTU_RETURN_IF_ERROR(reader.status());
  return weights;
}

template <typename Member>
std::string JoinSizes(const std::vector<BucketRecord>& buckets, Member BucketRecord::*member) {
  std::set<Member> sizes;
  for (const BucketRecord& bucket : buckets) sizes.insert(bucket.*member);
  return fmt::format("{}", fmt::join(sizes, ","));
}

}  // namespace

int64_t Metadata::NumFallbacks() const {
  return std::count_if(kernels.begin(), kernels.end(),
                       [](const KernelRecord& kernel) { return kernel.fallback; });
}

double Metadata::FallbackShare() const {
  if (kernels.empty()) return 0.0;
  return static_cast<double>(NumFallbacks()) / static_cast<double>(kernels.size());
}

ordered_json ToJson(const Metadata& metadata) {
  auto buckets = ordered_json::array();
  for (const BucketRecord& bucket : metadata.buckets) buckets.push_back(BucketJson(bucket));
  auto kernels = ordered_json::array();
  for (const KernelRecord& kernel : metadata.kernels) kernels.push_back(KernelJson(kernel));
  return {{"version", kMetadataVersion},
          {"model_fingerprint", metadata.model_fingerprint},
          {"abi", metadata.abi},
          {"compiler", metadata.compiler},
          {"target", metadata.target},
          {"dtype", metadata.dtype},
          {"kv_dtype", metadata.kv_dtype},
          {"bf16_products", metadata.bf16_products},
          {"page_size", metadata.page_size},
          {"kv_cache", metadata.kv_cache},
          {"step_tokens", metadata.step_tokens},
          {"weights",
           {{"file", metadata.weights.file},
            {"bytes", metadata.weights.bytes},
            {"xxh3", metadata.weights.xxh3}}},
          {"buckets", std::move(buckets)},
          {"kernels", std::move(kernels)}};
}

Result<Metadata> ParseMetadata(std::string_view text, std::string_view file_name) {
  const Result<json> parsed = ParseJson(text);
  if (!parsed.ok()) {
    return MakeError(ErrorCode::kBadData, "{}: {}", file_name, parsed.error().message);
  }
  Reader reader(parsed.value(), "", file_name);
  Metadata metadata;
  int64_t version = 0;
  reader.Integer("version", 0, &version);
  if (reader.status().ok() && version != kMetadataVersion) {
    return MakeError(ErrorCode::kBadData, "{}: version {}, this program reads version {}",
                     file_name, version, kMetadataVersion);
  }
  reader.Text("model_fingerprint", &metadata.model_fingerprint);
  reader.Text("abi", &metadata.abi);
  reader.Text("compiler", &metadata.compiler);
  reader.Text("target", &metadata.target);
  reader.Text("dtype", &metadata.dtype);
  reader.Text("kv_dtype", &metadata.kv_dtype);
  reader.Text("bf16_products", &metadata.bf16_products);
  reader.Integer("page_size", 1, &metadata.page_size);
  reader.Bool("kv_cache", &metadata.kv_cache);
  reader.Integer("step_tokens", 1, &metadata.step_tokens);
  const json* weights = reader.Find("weights");
  const json* buckets = reader.Array("buckets", kMostBuckets);
  const json* kernels = reader.Array("kernels", std::size_t{1} << 24);
  HSTU_RETURN_IF_ERROR(reader.status());
  HSTU_ASSIGN_OR_RETURN(metadata.weights, ReadWeights(*weights, file_name));
  for (const json& value : *buckets) {
    HSTU_ASSIGN_OR_RETURN(BucketRecord bucket,
                          ReadBucket(value, metadata.buckets.size(), file_name));
    metadata.buckets.push_back(std::move(bucket));
  }
  for (const json& value : *kernels) {
    HSTU_ASSIGN_OR_RETURN(KernelRecord kernel,
                          ReadKernel(value, metadata.kernels.size(), file_name));
    metadata.kernels.push_back(std::move(kernel));
  }
  return metadata;
}

std::string RebuildCommand(const Metadata& metadata, const std::string& model,
                           const std::string& out) {
  std::string command = fmt::format("hstu compile --model {} --out {}", model, out);
  if (metadata.buckets.empty()) return command + " --seq-len ... --batch ...";
  command += fmt::format(" --seq-len {} --batch {} --dtype {} --kv-dtype {} --page-size {}",
                         JoinSizes(metadata.buckets, &BucketRecord::seq_len),
                         JoinSizes(metadata.buckets, &BucketRecord::batch), metadata.dtype,
                         metadata.kv_dtype, metadata.page_size);
  if (metadata.dtype == "bf16") command += " --bf16-products " + metadata.bf16_products;
  if (metadata.kv_cache) command += " --kv-cache";
  if (metadata.step_tokens != kDefaultStepTokens) {
    command += fmt::format(" --max-step-tokens {}", metadata.step_tokens);
  }
  return command;
}

}  // namespace hstu
