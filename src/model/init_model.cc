#include "model/init_model.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/tensor_list.h"

namespace hstu {
namespace {

// Random numbers by their index, from integer arithmetic and one exact product: the standard
// library's distributions and libm differ between machines.
class Random {
 public:
  Random(std::uint64_t seed, const std::string& name)
      : key_(XXH3_64bits_withSeed(name.data(), name.size(), seed)) {}

  // Near normal, mean 0, variance 1: the sum of four uniform numbers of 16 bits.
  double Normal(std::uint64_t index) const {
    const std::uint64_t bits = Mix(key_ + index * 0x9e3779b97f4a7c15u);
    const auto sum = static_cast<std::int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                               ((bits >> 32) & 0xffff) + (bits >> 48));
    constexpr double kSqrt3 = 1.7320508075688772;  // each has variance (2^16)^2 / 12
    return static_cast<double>(sum - 2 * 0xffff) * (kSqrt3 / 65536.0);
  }

 private:
  static std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

struct Distribution {
  double mean;
  double scale;
};

Distribution DistributionOf(const TensorSpec& spec) {
  switch (spec.role) {
    case TensorRole::kTable:
    case TensorRole::kPosition:
      return {0, 0.3};
    case TensorRole::kMatrix:  // keeps the variance of its input
      return {0, 1 / std::sqrt(static_cast<double>(spec.shape.back()))};
    case TensorRole::kNormWeight:
      return {1, 0.1};
    case TensorRole::kBias:
    case TensorRole::kNormBias:
      return {0, 0.1};
  }
  return {0, 0};
}

DType DTypeOf(const TensorSpec& spec, const InitOptions& options) {
  return spec.role == TensorRole::kTable ? options.table_dtype : options.dtype;
}

// Size and JSON, padded so that the data begin at a multiple of 64 bytes.
std::string Header(const std::vector<TensorSpec>& specs, const InitOptions& options) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::int64_t offset = 0;
  for (const TensorSpec& spec : specs) {
    const DType dtype = DTypeOf(spec, options);
    const std::int64_t end =
        offset + spec.num_elements() * static_cast<std::int64_t>(SizeOf(dtype));
    const char* name = dtype == DType::kF32 ? "F32" : dtype == DType::kF16 ? "F16" : "BF16";
    header[spec.name] = {{"dtype", name}, {"shape", spec.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  const std::string json = header.dump();
  const std::size_t padding = (64 - (8 + json.size()) % 64) % 64;
  const std::uint64_t size = json.size() + padding;
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(size >> (8 * i));
  return text + json + std::string(padding, ' ');
}

Status WriteTensor(const TensorSpec& spec, const InitOptions& options, AtomicFile& file) {
  constexpr std::int64_t kBlock = 1 << 16;  // elements
  const Random random(options.seed, spec.name);
  const Distribution distribution = DistributionOf(spec);
  const DType dtype = DTypeOf(spec, options);
  std::string block(kBlock * SizeOf(dtype), 0);
  const std::int64_t count = spec.num_elements();
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, count - begin);
    for (std::int64_t i = 0; i < size; ++i) {
      const double normal = random.Normal(static_cast<std::uint64_t>(begin + i));
      StoreFloat(dtype, static_cast<float>(distribution.mean + distribution.scale * normal),
                 reinterpret_cast<std::byte*>(block.data()) + i * SizeOf(dtype));
    }
    HSTU_RETURN_IF_ERROR(file.Write({block.data(), size * SizeOf(dtype)}));
  }
  return {};
}

}  // namespace

Status WriteRandomModel(const ModelConfig& config, const InitOptions& options,
                        const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return MakeError(ErrorCode::kIo, "{}: making the folder failed: {}", folder, failed.message());
  }
  // Wide elements first, so that each is at a multiple of its size.
  std::vector<TensorSpec> specs = ListTensors(config);
  std::stable_sort(specs.begin(), specs.end(), [&](const auto& a, const auto& b) {
    return SizeOf(DTypeOf(a, options)) > SizeOf(DTypeOf(b, options));
  });
  HSTU_ASSIGN_OR_RETURN(AtomicFile weights, AtomicFile::Create(folder + "/model.safetensors"));
  const std::string header = Header(specs, options);
  HSTU_RETURN_IF_ERROR(weights.Write(header));
  for (const TensorSpec& spec : specs) HSTU_RETURN_IF_ERROR(WriteTensor(spec, options, weights));
  HSTU_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(folder + "/config.json"));
  const std::string text = ToJson(config).dump(2) + "\n";
  HSTU_RETURN_IF_ERROR(file.Write(text));
  HSTU_RETURN_IF_ERROR(weights.Commit());
  return file.Commit();
}

}  // namespace hstu
