// A folder of artifacts, checked and loaded: which bucket a step runs in.
#ifndef HSTU_COMPILE_ARTIFACTS_H_
#define HSTU_COMPILE_ARTIFACTS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/mapped_file.h"
#include "compile/artifact_abi.h"
#include "compile/metadata.h"
#include "compile/step_plan.h"
#include "hstu/hstu.hpp"
#include "kernels/products.h"
#include "model/weights.h"
#include "tensor/dtype.h"
#include "tensor/kv_dtype.h"

namespace hstu {

// When the libraries of buckets are loaded: all at once; each when it is first needed, its
// neighbours behind it in the background; or each when it is needed.
enum class Preload { kAll, kAdjacent, kNone };
Result<Preload> ParsePreload(std::string_view name);

// What the engine computes with, which artifacts must have been made for.
struct ArtifactUse {
  const ModelFiles* files;
  DType dtype;
  KvDType kv_dtype;
  std::string bf16_products;  // the option; "auto": those of the artifacts
  int64_t page_size;
  std::string isa;  // the option; empty: that of the artifacts
};

class Artifacts {
 public:
  struct Bucket {
    BucketRecord record;
    StepPlan plan;
    Operators operators{};  // compiled ones, built-in ones where there are none
  };

  // Reads metadata.json and checks everything that is on disk before any of it is used: ABI, model,
  // processor, types, hashes of all files. Errors (kBadData, kIo) are one line with what was
  // expected, what was found and the command that makes the artifacts again.
  static Result<std::unique_ptr<Artifacts>> Open(const std::string& folder, const ArtifactUse& use);
  ~Artifacts();
  Artifacts(const Artifacts&) = delete;
  Artifacts& operator=(const Artifacts&) = delete;

  // Whose bits all buckets give.
  Isa isa() const { return isa_; }
  // How they multiply bf16.
  Products products() const { return products_; }
  // The packed weights. To be taken once.
  MappedFile TakeWeights() { return std::move(*weights_); }
  // Of the largest plan.
  int64_t arena_bytes() const;

  // Loads libraries as `preload` says; `builtin` are the operators of isa(). Errors as of Open.
  Status Load(const Operators& builtin, Preload preload);

  int64_t num_buckets() const { return static_cast<int64_t>(slots_.size()); }
  const BucketRecord& record(int64_t index) const { return slots_[index]->bucket.record; }

  // The smallest bucket for steps of so many sequences, of at most `longest` tokens each and `rows`
  // in all; -1: none.
  int64_t Find(int64_t longest, int64_t sequences, int64_t rows) const;
  // The longest sequence that some bucket takes, and the most sequences.
  int64_t longest() const { return longest_; }
  int64_t most_sequences() const { return most_sequences_; }

  // A bucket, its library loaded; null where that fails. One caller at a time.
  const Bucket* Use(int64_t index);

 private:
  enum class State { kUnloaded, kReady, kBroken };
  struct Slot {
    Bucket bucket;
    void* library = nullptr;
    std::atomic<State> state = State::kUnloaded;
  };

  Artifacts(std::string folder, std::string model, Metadata metadata)
      : folder_(std::move(folder)), model_(std::move(model)), metadata_(std::move(metadata)) {}
  Status Check(const ArtifactUse& use);
  Status CheckProducts(const ArtifactUse& use);
  Status CheckFiles();
  void MakeSlots();
  Status LoadSlot(Slot* slot);
  Status OpenLibrary(Slot* slot) const;
  Status Adopt(const ArtifactBucket& exported, Slot* slot) const;
  void LoadInBackground();
  void AskForNeighbours(int64_t index);
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }
  // Ends a message about a file with the command.
  Error Mismatch(const std::string& file, const std::string& what) const;
  Error Differs(const char* key, std::string_view found, std::string_view expected) const;

  const std::string folder_;
  const std::string model_;  // its folder
  const Metadata metadata_;
  Metadata wanted_;  // of artifacts that would fit
  Isa isa_ = Isa::kScalar;
  Products products_ = Products::kF32;
  std::size_t num_stages_ = 0;
  std::optional<MappedFile> weights_;
  Operators builtin_{};
  Preload preload_ = Preload::kAll;
  std::vector<std::unique_ptr<Slot>> slots_;  // the smallest first
  int64_t longest_ = 0;
  int64_t most_sequences_ = 0;
  int64_t last_used_ = -1;

  std::mutex load_mutex_;  // of LoadSlot
  std::mutex mutex_;       // of what follows
  std::condition_variable wake_;
  std::vector<int64_t> queue_;
  bool stop_ = false;
  std::thread loader_;  // with Preload::kAdjacent
};

}  // namespace hstu

#endif  // HSTU_COMPILE_ARTIFACTS_H_
