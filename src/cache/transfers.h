// What moves between the pool and the tiers, on threads of its own: states that come back, layer by
// layer, while a step computes with them, and states that are saved.
#ifndef HSTU_CACHE_TRANSFERS_H_
#define HSTU_CACHE_TRANSFERS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cache/cache_log.h"
#include "cache/page_pool.h"
#include "cache/tier_stack.h"
#include "cache/user_state.h"

namespace hstu {

// A state on its way into pages of the pool. Its user must stay pinned until it is done.
class Arrival {
 public:
  // Returns when the pages of `layer` are in, or nothing more comes.
  void Wait(int64_t layer);
  // The same of the page alone that the step's own tokens go on in: they may be written then.
  void WaitToWrite(int64_t layer);
  void WaitAll() { Wait(static_cast<int64_t>(layers_.size()) - 1); }

  // After WaitAll: something was missing or damaged, so the pages hold anything.
  bool failed() const { return failed_; }
  size_t tier() const { return tier_; }
  double waited_seconds() const { return static_cast<double>(waited_nanoseconds_) * 1e-9; }

 private:
  friend class Transfers;

  struct Copy {
    StatePart part;
    std::vector<int64_t> indexes;  // of pages in the part
    std::vector<int32_t> pages;    // of the pool, where these go
  };
  struct Layer {
    std::vector<Copy> copies;
    size_t shared = 0;  // the first of these hold the page that new tokens go on in
  };

  template <typename Done>
  void WaitFor(const Done& done);
  void Tell(std::atomic<int64_t>* progress, int64_t layers);

  size_t tier_ = 0;
  std::string user_id_;
  std::vector<Layer> layers_;
  int64_t next_layer_ = 0;  // the worker's
  std::atomic<int64_t> writable_layers_ = 0;
  std::atomic<int64_t> layers_in_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<int64_t> waited_nanoseconds_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct TransferCounters {
  int64_t arrivals = 0;
  int64_t arrivals_failed = 0;
  int64_t saves = 0;
  int64_t saves_dropped = 0;  // too much was waiting to be written
  int64_t waits = 0;          // of requests, for a save of their user or for pages that it reads
  double arrival_seconds = 0.0;
};

class Transfers {
 public:
  // `chunk_pages`: pages of the first stage that are saved as one part, as soon as they are full.
  // `log` may be null. The pool and the log must outlive it.
  Transfers(std::unique_ptr<TierStack> tiers, const PagePool* pool, int64_t chunk_pages,
            CacheLog* log);
  // Ends what was begun.
  ~Transfers();

  TierStack& tiers() { return *tiers_; }
  const TierStack& tiers() const { return *tiers_; }
  TransferCounters counters() const;

  // What the tiers from `from` on know of a user who isn't in the pool. Waits for saves of the
  // user.
  std::optional<TierStack::Found> Find(const std::string& user_id, size_t from);

  // Begins to fill the pages of `user` that hold positions before `resume` (one of each stage).
  std::shared_ptr<Arrival> Bring(const TierStack::Found& found, const UserState& user,
                                 const std::vector<int64_t>& resume);

  // Saving as a step computes, layer by layer, where a chunk of the first stage gets full; `counts`
  // are the user's positions after the step. In a model of one stage, full chunks. In others the
  // state at the step's end, which alone can be gone on from: what waits between stages isn't known
  // for any position before it.
  void BeginSave(const UserState& user, const std::vector<int64_t>& counts);
  void LayerDone(int64_t layer);
  // The users of BeginSave must be pinned until then.
  void EndStep();

  // Saves what is left of a user who is about to leave the pool; the pages are copied at once. With
  // `wait` it waits where too much is waiting to be written, else it drops the save.
  void SaveLeaving(const UserState& user, bool wait);

  // Returns when no save reads the user's pages.
  void WaitForSave(const SavedState& saved);
  // Returns when all saves that were begun are done.
  void Drain();

 private:
  struct SavedPart {
    StatePart part;
    bool is_new = false;
    TierMask to = 0;
    std::vector<int32_t> pages;        // of the pool
    std::optional<PartBuffer> buffer;  // or the bytes
  };
  struct Save {
    StateHeader header;
    std::vector<std::vector<SavedPart>> layers;
    TierMask to = 0;                    // that took all so far
    std::shared_ptr<SavedState> saved;  // of a user who stays in the pool
    const UserState* user = nullptr;    // of a running step, which EndStep takes the rest from
    int64_t staged_bytes = 0;           // that are copied before they are written
  };
  struct SaveTask {
    std::shared_ptr<Save> save;
    int64_t begin_layer = 0;
    int64_t end_layer = 0;
    bool commit = false;
  };

  int64_t PageTokens() const { return pool_.layout().page.page_tokens; }
  int64_t NumLayers() const { return static_cast<int64_t>(pool_.layout().key_offsets.size()); }
  bool Fits(const StateHeader& header) const;
  bool OpenPagesFit(const StateHeader& header) const;
  std::shared_ptr<Save> MakeSave(const UserState& user, const std::vector<SavedStage>& stages,
                                 bool stays);
  void AddParts(const UserState& user, int64_t layer, const SavedStage& stage, TierMask lacking,
                bool stays, Save* save) const;
  void AddBeside(const UserState& user, StateHeader* header) const;
  // Whether the part's last page is still to be filled up.
  bool IsOpen(const StatePart& part, const StateHeader& header) const;
  bool TakesStaged(const Save& save) const;
  void CopyOut(int64_t layer, SavedPart* part) const;
  void CopyIn(int64_t layer, const Arrival::Copy& copy, std::span<const std::byte> from) const;
  void Enqueue(SaveTask task);
  void RunSaves();
  void RunTask(const SaveTask& task);
  void WriteLayer(int64_t layer, Save* save);
  void Finish(Save* save);
  void RunArrivals();
  void BringLayer(Arrival* arrival);

  const std::unique_ptr<TierStack> tiers_;
  const PagePool& pool_;
  const int64_t chunk_pages_;
  const int64_t max_staged_bytes_;
  CacheLog* const log_;
  std::vector<std::shared_ptr<Save>> step_saves_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<SaveTask> tasks_;
  int64_t running_ = 0;  // saves that are not finished
  int64_t staged_bytes_ = 0;
  std::unordered_map<std::string, int64_t> leaving_;  // saves of users who left the pool
  std::vector<std::shared_ptr<Arrival>> arrivals_;
  std::condition_variable arrivals_work_;
  bool stop_ = false;
  TransferCounters counters_;
  std::thread saver_;
  std::thread bringer_;
};

}  // namespace hstu

#endif  // HSTU_CACHE_TRANSFERS_H_
