#include "compile/artifacts.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "compile/elf.h"
#include "compile/kernel_sources.h"
#include "compile/target.h"
#include "model/fingerprint.h"

namespace hstu {
namespace {

// The compiled ones where there are any.
Operators Merge(const Operators& builtin, const Operators& compiled) {
  Operators merged = builtin;
  ForEachOperator([&](auto member) {
    if (compiled.*member != nullptr) merged.*member = compiled.*member;
  });
  return merged;
}

StepPlan PlanOf(const ArtifactBucket& exported) {
  StepPlan plan;
  plan.rows = exported.rows;
  plan.x.assign(exported.x, exported.x + exported.num_stages);
  plan.uvqk.assign(exported.uvqk, exported.uvqk + exported.num_stages);
  plan.logits = exported.logits;
  plan.bytes = exported.arena_bytes;
  return plan;
}

}  // namespace

Result<Preload> ParsePreload(std::string_view name) {
  if (name == "all") return Preload::kAll;
  if (name == "adjacent") return Preload::kAdjacent;
  if (name == "none") return Preload::kNone;
  return MakeError(ErrorCode::kBadArgument, "preload \"{}\": there are all, adjacent and none",
                   name);
}

Result<std::unique_ptr<Artifacts>> Artifacts::Open(const std::string& folder,
                                                   const ArtifactUse& use) {
  const std::string path = folder + "/" + kMetadataFile;
  const std::string model = use.files->folder();
  const auto rebuild = [&](const Error& error) {
    return MakeError(error.code, "{}; make the artifacts with: {}", error.message,
                     RebuildCommand({}, model, folder));
  };
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return rebuild(file.error());
  Result<Metadata> metadata = ParseMetadata(file->text(), path);
  if (!metadata.ok()) return rebuild(metadata.error());
  std::unique_ptr<Artifacts> artifacts(new Artifacts(folder, model, std::move(metadata).value()));
  HSTU_RETURN_IF_ERROR(artifacts->Check(use));
  HSTU_RETURN_IF_ERROR(artifacts->CheckFiles());
  artifacts->MakeSlots();
  return artifacts;
}

Artifacts::~Artifacts() {
  if (loader_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    loader_.join();
  }
  for (const auto& slot : slots_) {
    if (slot->library != nullptr) ::dlclose(slot->library);
  }
}

Error Artifacts::Mismatch(const std::string& file, const std::string& what) const {
  return MakeError(ErrorCode::kBadData, "{}: {}; make the artifacts again with: {}", Path(file),
                   what, RebuildCommand(wanted_, model_, folder_));
}

Error Artifacts::Differs(const char* key, std::string_view found, std::string_view expected) const {
  return Mismatch(kMetadataFile, fmt::format("{} is {}, expected {}", key, found, expected));
}

Status Artifacts::Check(const ArtifactUse& use) {
  wanted_ = metadata_;
  wanted_.dtype = NameOf(use.dtype);
  wanted_.kv_dtype = NameOf(use.kv_dtype);
  wanted_.bf16_products = use.bf16_products;
  wanted_.page_size = use.page_size;
  if (metadata_.abi != kKernelAbi) return Differs("abi", metadata_.abi, kKernelAbi);
  const std::string fingerprint = Fingerprint(*use.files);
  if (metadata_.model_fingerprint != fingerprint) {
    return Differs("model_fingerprint", metadata_.model_fingerprint, fingerprint);
  }
  const Result<Target> target = ParseTarget(metadata_.target);
  if (!target.ok() || metadata_.target == "native") {
    return Differs("target", metadata_.target, "x86-64-v3 or x86-64-v4");
  }
  isa_ = target->isa;
  const std::string_view isa = IsaName(isa_);
  if (!ParseIsa(isa).ok()) {
    return Differs("target", metadata_.target,
                   fmt::format("one that this processor has, whose best is {}",
                               IsaName(SupportedIsas().back())));
  }
  if (!use.isa.empty() && use.isa != isa) {
    return Differs("target", metadata_.target, fmt::format("one of --isa {}", use.isa));
  }
  if (metadata_.dtype != NameOf(use.dtype)) {
    return Differs("dtype", metadata_.dtype, NameOf(use.dtype));
  }
  if (metadata_.kv_dtype != NameOf(use.kv_dtype)) {
    return Differs("kv_dtype", metadata_.kv_dtype, NameOf(use.kv_dtype));
  }
  HSTU_RETURN_IF_ERROR(CheckProducts(use));
  if (metadata_.page_size != use.page_size) {
    return Differs("page_size", std::to_string(metadata_.page_size), std::to_string(use.page_size));
  }
  num_stages_ = use.files->config().stages.size();
  return {};
}

Status Artifacts::CheckProducts(const ArtifactUse& use) {
  if (use.bf16_products != "auto" && use.bf16_products != metadata_.bf16_products) {
    return Differs("bf16_products", metadata_.bf16_products, use.bf16_products);
  }
  const Result<Products> products = ChooseProducts(metadata_.bf16_products, use.dtype, isa_);
  if (!products.ok()) {
    const Result<Products> best = ChooseProducts("auto", use.dtype, isa_);
    return Differs("bf16_products", metadata_.bf16_products,
                   fmt::format("{}, the best of this processor", NameOf(best.value())));
  }
  products_ = products.value();
  return {};
}

Status Artifacts::CheckFiles() {
  const WeightsRecord& record = metadata_.weights;
  Result<MappedFile> weights = MappedFile::Open(Path(record.file));
  if (!weights.ok()) return Mismatch(record.file, "it can't be read");
  if (static_cast<int64_t>(weights->bytes().size()) != record.bytes) {
    return Mismatch(record.file, fmt::format("it has {} bytes, expected {}",
                                             weights->bytes().size(), record.bytes));
  }
  Hasher hash;
  hash.Add(weights->bytes().data(), weights->bytes().size());
  if (hash.Hex() != record.xxh3) {
    return Mismatch(record.file, fmt::format("xxh3 is {}, expected {}", hash.Hex(), record.xxh3));
  }
  weights_.emplace(std::move(weights).value());
  for (const BucketRecord& bucket : metadata_.buckets) {
    const Result<MappedFile> library = MappedFile::Open(Path(bucket.library));
    if (!library.ok()) return Mismatch(bucket.library, "it can't be read");
    const std::string found = Sha256(library->bytes());
    if (found != bucket.sha256) {
      return Mismatch(bucket.library,
                      fmt::format("sha256 is {}, expected {}", found, bucket.sha256));
    }
    if (!IsWholeSharedObject(library->bytes())) {
      return Mismatch(bucket.library, "it is no whole shared object");
    }
  }
  return {};
}

void Artifacts::MakeSlots() {
  for (const BucketRecord& record : metadata_.buckets) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->bucket.record = record;
    longest_ = std::max(longest_, record.seq_len);
    most_sequences_ = std::max(most_sequences_, record.batch);
  }
  std::sort(slots_.begin(), slots_.end(), [](const auto& a, const auto& b) {
    const BucketRecord& x = a->bucket.record;
    const BucketRecord& y = b->bucket.record;
    return std::pair(x.seq_len * x.batch, x.seq_len) < std::pair(y.seq_len * y.batch, y.seq_len);
  });
}

int64_t Artifacts::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& slot : slots_) bytes = std::max(bytes, slot->bucket.record.arena_bytes);
  return bytes;
}

Status Artifacts::Load(const Operators& builtin, Preload preload) {
  builtin_ = builtin;
  preload_ = preload;
  if (preload == Preload::kAll) {
    for (const auto& slot : slots_) HSTU_RETURN_IF_ERROR(LoadSlot(slot.get()));
  } else if (preload == Preload::kAdjacent) {
    loader_ = std::thread([this] { LoadInBackground(); });
  }
  return {};
}

Status Artifacts::LoadSlot(Slot* slot) {
  const std::lock_guard lock(load_mutex_);
  if (slot->state.load() == State::kReady) return {};
  Status loaded = OpenLibrary(slot);
  slot->state.store(loaded.ok() ? State::kReady : State::kBroken, std::memory_order_release);
  return loaded;
}

Status Artifacts::OpenLibrary(Slot* slot) const {
  const std::string& file = slot->bucket.record.library;
  // Absolute: a name without a slash would be searched for elsewhere.
  const std::string path = std::filesystem::absolute(Path(file)).string();
  slot->library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (slot->library == nullptr)
    return Mismatch(file, fmt::format("it can't be loaded: {}", ::dlerror()));
  const auto* exported =
      static_cast<const ArtifactBucket*>(::dlsym(slot->library, kArtifactSymbol));
  if (exported == nullptr) return Mismatch(file, "it is no library of hstu compile");
  return Adopt(*exported, slot);
}

Status Artifacts::Adopt(const ArtifactBucket& exported, Slot* slot) const {
  const BucketRecord& record = slot->bucket.record;
  if (exported.magic != kArtifactMagic || kKernelAbi != exported.abi) {
    return Mismatch(record.library, fmt::format("its abi is not {}", kKernelAbi));
  }
  const bool fits = exported.seq_len == record.seq_len && exported.batch == record.batch &&
                    exported.rows == record.rows && exported.arena_bytes == record.arena_bytes &&
                    exported.num_stages == static_cast<int64_t>(num_stages_);
  if (!fits) return Mismatch(record.library, "it is of another bucket than metadata.json says");
  slot->bucket.plan = PlanOf(exported);
  slot->bucket.operators = Merge(builtin_, exported.kernels);
  return {};
}

int64_t Artifacts::Find(int64_t longest, int64_t sequences, int64_t rows) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const BucketRecord& bucket = slots_[i]->bucket.record;
    if (bucket.seq_len < longest || bucket.batch < sequences || bucket.rows < rows) continue;
    if (slots_[i]->state.load(std::memory_order_relaxed) != State::kBroken) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

const Artifacts::Bucket* Artifacts::Use(int64_t index) {
  Slot* slot = slots_[index].get();
  if (slot->state.load(std::memory_order_acquire) == State::kUnloaded) {
    // What was whole at the start and is no more: the step runs built in.
    if (!LoadSlot(slot).ok()) return nullptr;
  }
  if (preload_ == Preload::kAdjacent && index != last_used_) AskForNeighbours(index);
  last_used_ = index;
  return slot->state.load(std::memory_order_acquire) == State::kReady ? &slot->bucket : nullptr;
}

void Artifacts::AskForNeighbours(int64_t index) {
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t neighbour : {index + 1, index - 1}) {
      if (neighbour < 0 || neighbour >= num_buckets()) continue;
      if (slots_[neighbour]->state.load() == State::kUnloaded) queue_.push_back(neighbour);
    }
  }
  wake_.notify_one();
}

void Artifacts::LoadInBackground() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Slot* slot = slots_[queue_.front()].get();
    queue_.erase(queue_.begin());
    lock.unlock();
    if (slot->state.load() == State::kUnloaded) (void)LoadSlot(slot).ok();  // else when it is used
    lock.lock();
  }
}

}  // namespace hstu
