#include "compile/build.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/aligned.h"
#include "base/atomic_file.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "base/sha256.h"
#include "compile/codegen.h"
#include "compile/compiler.h"
#include "compile/fallbacks.h"
#include "compile/fusion.h"
#include "compile/graph_builder.h"
#include "compile/kernel_sources.h"
#include "compile/step_plan.h"
#include "compile/target.h"
#include "model/dense_weights.h"
#include "model/fingerprint.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeightsFile = "weights.bin";
constexpr int64_t kMostSize = int64_t{1} << 24;
constexpr std::size_t kKeyDigits = 16;  // of a key in the names of objects

Status WriteText(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (out) return {};
  return MakeError(ErrorCode::kIo, "{}: it can't be written", path);
}

Status CheckSizes(const std::vector<int64_t>& sizes, const char* option) {
  if (sizes.empty()) return MakeError(ErrorCode::kBadArgument, "{} names no size", option);
  for (const int64_t size : sizes) {
    if (size >= 1 && size <= kMostSize) continue;
    return MakeError(ErrorCode::kBadArgument, "{} {} is outside [1, {}]", option, size, kMostSize);
  }
  return {};
}

class Build {
 public:
  Build(const CompileOptions& options, ModelFiles files, Target target)
      : options_(options), files_(std::move(files)), target_(std::move(target)) {}

  Result<CompileReport> Run() {
    HSTU_RETURN_IF_ERROR(ReadTypes());
    HSTU_RETURN_IF_ERROR(MakeFolders());
    HSTU_ASSIGN_OR_RETURN(const Compiler compiler, Compiler::Find(folder_));
    ReadEarlier();
    Describe(compiler);
    HSTU_RETURN_IF_ERROR(WriteWeights());
    HSTU_RETURN_IF_ERROR(CompileObjects(compiler));
    HSTU_RETURN_IF_ERROR(LinkBuckets(compiler));
    HSTU_RETURN_IF_ERROR(WriteMetadata());
    RemoveStale();
    return std::move(report_);
  }

 private:
  struct Job {
    std::string source;
    std::string result;
  };

  std::string Out(const std::string& name) const { return options_.out + "/" + name; }
  std::string Folder(const std::string& name) const { return folder_ + "/" + name; }

  Status ReadTypes() {
    const std::optional<DType> dtype = DTypeFromName(options_.dtype);
    if (!dtype || *dtype == DType::kF16) {
      return MakeError(ErrorCode::kBadArgument, "dtype \"{}\": activations are f32 or bf16",
                       options_.dtype);
    }
    const std::optional<KvDType> kv =
        KvDTypeFromName(options_.kv_dtype.empty() ? options_.dtype : options_.kv_dtype);
    if (!kv) {
      return MakeError(ErrorCode::kBadArgument,
                       "kv_dtype \"{}\": K and V are kept in f32, bf16, f16 or int8",
                       options_.kv_dtype);
    }
    HSTU_ASSIGN_OR_RETURN(const Products products,
                          ChooseProducts(options_.bf16_products, *dtype, target_.isa));
    special_ = {*dtype, *kv, products, options_.page_size, options_.kv_cache};
    // As the engine does: nothing of such a model is kept.
    if (files_.config().contextual_mask && *kv == KvDType::kInt8) special_.kv_dtype = KvDType::kF32;
    return {};
  }

  // The folder of intermediate files, with the kernels' sources.
  Status MakeFolders() {
    std::error_code error;
    fs::create_directories(Folder("include"), error);
    for (const KernelSource& source : KernelSources()) {
      const fs::path path = fs::path(Folder("include")) / source.path;
      fs::create_directories(path.parent_path(), error);
      HSTU_RETURN_IF_ERROR(WriteText(path.string(), source.text));
    }
    return {};
  }

  // What an earlier run left, where it can be read.
  void ReadEarlier() {
    const Result<MappedFile> file = MappedFile::Open(Out(kMetadataFile));
    if (!file.ok()) return;
    Result<Metadata> metadata = ParseMetadata(file->text(), kMetadataFile);
    if (metadata.ok()) earlier_ = std::move(metadata).value();
  }

  void Describe(const Compiler& compiler) {
    Metadata& metadata = report_.metadata;
    metadata.model_fingerprint = Fingerprint(files_);
    metadata.abi = std::string(kKernelAbi);
    metadata.compiler = compiler.version();
    metadata.target = target_.name;
    metadata.dtype = NameOf(special_.dtype);
    metadata.kv_dtype = NameOf(special_.kv_dtype);
    metadata.bf16_products = NameOf(special_.products);
    metadata.page_size = options_.page_size;
    metadata.kv_cache = options_.kv_cache;
    metadata.step_tokens = options_.step_tokens;
    graph_ = Fuse(BuildGraph(files_.config()), special_.kv_dtype == KvDType::kInt8);
    fallbacks_ = FindFallbacks(graph_, options_.fallback_ops);
    for (const Node& node : graph_.nodes) {
      if (!fallbacks_.contains(node.op)) compiled_ops_.push_back(node.op);
    }
  }

  Status WriteWeights() {
    WeightsRecord& weights = report_.metadata.weights;
    weights.file = kWeightsFile;
    weights.bytes = DenseWeightBytes(files_, {}, special_.products);
    const bool alike = earlier_ && earlier_->abi == report_.metadata.abi &&
                       earlier_->model_fingerprint == report_.metadata.model_fingerprint &&
                       earlier_->bf16_products == report_.metadata.bf16_products &&
                       earlier_->weights.file == kWeightsFile;
    if (alike) {
      const Result<MappedFile> file = MappedFile::Open(Out(kWeightsFile));
      if (file.ok() && Xxh3(file->bytes()) == earlier_->weights.xxh3) {
        weights.xxh3 = earlier_->weights.xxh3;
        report_.weights_reused = true;
        return {};
      }
    }
    const auto block = AllocateAligned<std::byte>(weights.bytes);
    PackDenseWeights(files_, {}, special_.products, block.get());
    const std::span bytes(block.get(), static_cast<std::size_t>(weights.bytes));
    weights.xxh3 = Xxh3(bytes);
    return WriteWholeFile(Out(kWeightsFile),
                          {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // Of a source as it will be compiled.
  std::string KeyOf(const Compiler& compiler, const std::string& text) const {
    Hasher hash;
    hash.Add(text);
    hash.Add(report_.metadata.abi);
    hash.Add(compiler.version());
    for (const std::string& flag : compiler.ObjectFlags(target_)) hash.Add(flag);
    return hash.Hex();
  }

  // The object of a source; a job where there is none yet.
  Result<std::string> Object(const Compiler& compiler, const std::string& name,
                             const std::string& text, std::vector<Job>* jobs) {
    const std::string stem =
        fmt::format("{}-{}", name, KeyOf(compiler, text).substr(0, kKeyDigits));
    const std::string object = Folder(stem + ".o");
    kept_.insert(object);
    kept_.insert(Folder(stem + ".cc"));
    if (fs::exists(object)) {
      ++report_.objects_reused;
      return object;
    }
    HSTU_RETURN_IF_ERROR(WriteText(Folder(stem + ".cc"), text));
    jobs->push_back({Folder(stem + ".cc"), object});
    ++report_.objects;
    return object;
  }

  Status CompileObjects(const Compiler& compiler) {
    std::vector<Job> jobs;
    for (const GeneratedFile& file : GenerateKernels(files_, special_, compiled_ops_)) {
      HSTU_ASSIGN_OR_RETURN(std::string object, Object(compiler, file.name, file.text, &jobs));
      kernel_objects_.push_back(std::move(object));
    }
    // What the kernels call of ours.
    HSTU_ASSIGN_OR_RETURN(std::string dtypes,
                          Object(compiler, "dtype", "#include \"tensor/dtype.cc\"\n", &jobs));
    kernel_objects_.push_back(std::move(dtypes));
    std::sort(kernel_objects_.begin(), kernel_objects_.end());
    return ForAll(jobs, "kernels", [&](const Job& job) {
      return compiler.CompileObject(job.source, Folder("include"), target_, job.result);
    });
  }

  Status LinkBuckets(const Compiler& compiler) {
    std::vector<Job> compile_jobs;
    std::vector<Job> link_jobs;
    for (const int64_t seq_len : options_.seq_lens) {
      for (const int64_t batch : options_.batches) {
        HSTU_RETURN_IF_ERROR(AddBucket(compiler, seq_len, batch, &compile_jobs, &link_jobs));
      }
    }
    HSTU_RETURN_IF_ERROR(ForAll(compile_jobs, "buckets", [&](const Job& job) {
      return compiler.CompileObject(job.source, Folder("include"), target_, job.result);
    }));
    HSTU_RETURN_IF_ERROR(ForAll(link_jobs, "libraries", [&](const Job& job) {
      std::vector<std::string> objects = kernel_objects_;
      objects.push_back(job.source);
      return compiler.Link(objects, job.result);
    }));
    for (BucketRecord& bucket : report_.metadata.buckets) {
      HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(Out(bucket.library)));
      bucket.sha256 = Sha256(file.bytes());
    }
    return {};
  }

  Status AddBucket(const Compiler& compiler, int64_t seq_len, int64_t batch,
                   std::vector<Job>* compile_jobs, std::vector<Job>* link_jobs) {
    const int64_t rows = std::max(seq_len, std::min(seq_len * batch, options_.step_tokens));
    const StepPlan plan = PlanStep(files_.config(), special_.dtype, rows);
    const std::string stem = fmt::format("bucket_{}_{}", seq_len, batch);
    HSTU_ASSIGN_OR_RETURN(
        const std::string object,
        Object(compiler, stem, GenerateBucket(seq_len, batch, plan, special_, compiled_ops_),
               compile_jobs));
    BucketRecord bucket{seq_len, batch, rows, stem + ".so", "", plan.bytes, LibraryKey(object)};
    AddKernels(bucket);
    if (IsThere(bucket)) {
      ++report_.libraries_reused;
    } else {
      link_jobs->push_back({object, Out(bucket.library)});
      ++report_.libraries;
    }
    report_.metadata.buckets.push_back(std::move(bucket));
    return {};
  }

  // Names of objects carry the keys of what they were made of.
  std::string LibraryKey(const std::string& object) const {
    Hasher hash;
    for (const std::string& kernel : kernel_objects_)
      hash.Add(fs::path(kernel).filename().string());
    hash.Add(fs::path(object).filename().string());
    return hash.Hex();
  }

  bool IsThere(const BucketRecord& bucket) const {
    if (!earlier_) return false;
    for (const BucketRecord& other : earlier_->buckets) {
      if (other.library != bucket.library || other.key != bucket.key) continue;
      const Result<MappedFile> file = MappedFile::Open(Out(bucket.library));
      return file.ok() && Sha256(file->bytes()) == other.sha256;
    }
    return false;
  }

  void AddKernels(const BucketRecord& bucket) {
    const int64_t candidates =
        std::min(bucket.rows, bucket.batch * files_.config().max_num_candidates);
    for (const Node& node : graph_.nodes) {
      KernelRecord kernel{node.name, node.op, bucket.seq_len, bucket.batch, {}, {}, false, ""};
      for (const int64_t input : node.inputs) {
        kernel.inputs.push_back(ShapeOf(graph_.values[input].shape, bucket.rows, candidates));
      }
      for (const int64_t output : node.outputs) {
        kernel.outputs.push_back(ShapeOf(graph_.values[output].shape, bucket.rows, candidates));
      }
      const auto fallback = fallbacks_.find(node.op);
      if (fallback != fallbacks_.end()) {
        kernel.fallback = true;
        kernel.reason = fallback->second;
      }
      report_.metadata.kernels.push_back(std::move(kernel));
    }
  }

  // Makes a file aside, which is then put in its place: what is there is whole.
  template <typename Body>
  static Status RunJob(const Job& job, const Body& body) {
    const Job aside{job.source, job.result + ".new"};
    HSTU_RETURN_IF_ERROR(body(aside));
    std::error_code error;
    fs::rename(aside.result, job.result, error);
    if (error) return MakeError(ErrorCode::kIo, "{}: {}", job.result, error.message());
    return {};
  }

  // Side by side. The first error wins.
  template <typename Body>
  Status ForAll(const std::vector<Job>& jobs, const char* what, const Body& body) {
    const int most = options_.threads > 0 ? options_.threads : AvailableProcessors();
    Progress progress("compiling", static_cast<int64_t>(jobs.size()), what);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    int64_t done = 0;
    Status status;
    // Not a ThreadPool, whose threads spin while they wait: processors belong to the compilers.
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(most, jobs.size()); ++i) {
      threads.emplace_back([&] {
        for (std::size_t job = next++; job < jobs.size(); job = next++) {
          Status ran = RunJob(jobs[job], body);
          const std::lock_guard lock(mutex);
          progress.Update(++done);
          if (status.ok() && !ran.ok()) status = std::move(ran);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return status;
  }

  Status WriteMetadata() {
    return WriteWholeFile(Out(kMetadataFile), ToJson(report_.metadata).dump(2) + "\n");
  }

  // Objects and libraries that an earlier run made and these options don't ask for; nothing else
  // that a folder has, which may be anybody's.
  void RemoveStale() {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      if (IsIntermediate(name) && !kept_.contains(Folder(name))) fs::remove(entry.path(), error);
    }
    if (!earlier_) return;
    std::set<std::string> libraries;
    for (const BucketRecord& bucket : report_.metadata.buckets) libraries.insert(bucket.library);
    for (const BucketRecord& bucket : earlier_->buckets) {
      if (!libraries.contains(bucket.library)) fs::remove(Out(bucket.library), error);
    }
  }

  // As Object names them: NAME-KEY.cc and NAME-KEY.o.
  static bool IsIntermediate(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot <= kKeyDigits) return false;
    const std::string ending = name.substr(dot);
    const std::string key = name.substr(dot - kKeyDigits, kKeyDigits);
    return (ending == ".cc" || ending == ".o") && name[dot - kKeyDigits - 1] == '-' &&
           key.find_first_not_of("0123456789abcdef") == std::string::npos;
  }

  static std::string Xxh3(std::span<const std::byte> bytes) {
    Hasher hash;
    hash.Add(bytes.data(), bytes.size());
    return hash.Hex();
  }

  const CompileOptions& options_;
  const ModelFiles files_;
  const Target target_;
  const std::string folder_ = options_.out + "/build";
  Specialization special_;
  Graph graph_;
  Fallbacks fallbacks_;
  std::vector<std::string> compiled_ops_;
  std::optional<Metadata> earlier_;
  std::vector<std::string> kernel_objects_;
  std::set<std::string> kept_;
  CompileReport report_;
};

}  // namespace

Result<CompileReport> CompileModel(const CompileOptions& given) {
  CompileOptions options = given;
  HSTU_RETURN_IF_ERROR(CheckSizes(options.seq_lens, "seq-len"));
  HSTU_RETURN_IF_ERROR(CheckSizes(options.batches, "batch"));
  for (std::vector<int64_t>* sizes : {&options.seq_lens, &options.batches}) {
    std::sort(sizes->begin(), sizes->end());
    sizes->erase(std::unique(sizes->begin(), sizes->end()), sizes->end());
  }
  HSTU_ASSIGN_OR_RETURN(Target target, ParseTarget(options.target));
  HSTU_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Load(options.model));
  return Build(options, std::move(files), std::move(target)).Run();
}

}  // namespace hstu
