#include "cache/transfers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace hstu {
namespace {

// Copies of users who left the pool, waiting to be written: this share of the pool, or kMinStaged.
constexpr int64_t kStagedShare = 4;
constexpr int64_t kMinStaged = int64_t{64} << 20;

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

template <typename Done>
void Arrival::WaitFor(const Done& done) {
  if (done()) return;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, done);
  }
  waited_nanoseconds_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

void Arrival::Wait(int64_t layer) {
  WaitFor([&] { return layers_in_ > layer; });
}

void Arrival::WaitToWrite(int64_t layer) {
  if (layers_[layer].shared > 0) WaitFor([&] { return writable_layers_ > layer; });
}

void Arrival::Tell(std::atomic<int64_t>* progress, int64_t layers) {
  const std::lock_guard lock(mutex_);
  *progress = layers;
  changed_.notify_all();
}

Transfers::Transfers(std::unique_ptr<TierStack> tiers, const PagePool* pool, int64_t chunk_pages,
                     CacheLog* log)
    : tiers_(std::move(tiers)),
      pool_(*pool),
      chunk_pages_(chunk_pages),
      max_staged_bytes_(std::max(kMinStaged, pool->layout().Bytes() / kStagedShare)),
      log_(log),
      saver_([this] { RunSaves(); }),
      bringer_([this] { RunArrivals(); }) {}

Transfers::~Transfers() {
  Drain();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  arrivals_work_.notify_all();
  saver_.join();
  bringer_.join();
}

TransferCounters Transfers::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::optional<TierStack::Found> Transfers::Find(const std::string& user_id, size_t from) {
  {
    std::unique_lock lock(mutex_);
    if (leaving_.contains(user_id)) {
      ++counters_.waits;
      done_.wait(lock, [&] { return !leaving_.contains(user_id); });
    }
  }
  std::optional<TierStack::Found> found = tiers_->Find(user_id, from);
  while (found && !Fits(found->header)) found = tiers_->Find(user_id, found->tier + 1);
  return found;
}

// Whether the header's facts are those of the pool's layout.
bool Transfers::Fits(const StateHeader& header) const {
  const KvLayout& layout = pool_.layout();
  if (header.stages.size() != layout.stages.size()) return false;
  size_t waiting = 0;
  for (size_t i = 0; i < layout.stages.size(); ++i) {
    waiting += static_cast<size_t>(WaitingFloats(layout.shape, i));
  }
  if (header.waiting.size() != waiting || !OpenPagesFit(header)) return false;
  for (const SavedStage& stage : header.stages) {
    if (stage.first < 0 || stage.count < stage.first) return false;
  }
  const SavedStage& tokens = header.stages[0];
  if (static_cast<int64_t>(header.tokens.size()) != tokens.count - tokens.first) return false;
  if (tokens.count - tokens.first > layout.shape.max_history_tokens) return false;
  const int64_t page_bytes = LayerPageBytes(layout.page);
  std::vector<int64_t> next(NumLayers());
  for (int64_t layer = 0; layer < NumLayers(); ++layer) {
    next[layer] = header.stages[pool_.layout().StageOf(layer)].first / PageTokens();
  }
  for (const StatePart& part : header.parts) {  // by layer, by page
    if (part.layer < 0 || part.layer >= NumLayers() || part.first_page > next[part.layer] ||
        part.pages < 1 || part.bytes != part.pages * page_bytes) {
      return false;
    }
    next[part.layer] = std::max(next[part.layer], part.first_page + part.pages);
  }
  for (int64_t layer = 0; layer < NumLayers(); ++layer) {
    const SavedStage& stage = header.stages[pool_.layout().StageOf(layer)];
    if (stage.count > stage.first && next[layer] * PageTokens() < stage.count) return false;
  }
  return true;
}

// An int8 page that still fills up lies beside the pool; where all pages are full there is none.
bool Transfers::OpenPagesFit(const StateHeader& header) const {
  const KvLayout& layout = pool_.layout();
  const int64_t layers = NumLayers();
  const auto size = static_cast<int64_t>(header.open.size());
  if (size == layers * OpenPageBytes(layout.page)) return true;
  return size == 0 && std::all_of(header.stages.begin(), header.stages.end(),
                                  [&](const SavedStage& s) { return s.count % PageTokens() == 0; });
}

std::shared_ptr<Arrival> Transfers::Bring(const TierStack::Found& found, const UserState& user,
                                          const std::vector<int64_t>& resume) {
  auto arrival = std::make_shared<Arrival>();
  arrival->tier_ = found.tier;
  arrival->user_id_ = user.user_id;
  arrival->layers_.resize(NumLayers());
  for (const StatePart& part : found.header.parts) {
    const size_t index = pool_.layout().StageOf(part.layer);
    const UserStage& stage = user.stages[index];
    const int64_t first_page = stage.first / PageTokens();
    const int64_t end_page =
        resume[index] > stage.first ? CeilDiv(resume[index], PageTokens()) : first_page;
    Arrival::Copy copy{part, {}, {}};
    const int64_t begin = std::max(part.first_page, first_page);
    for (int64_t page = begin; page < std::min(part.first_page + part.pages, end_page); ++page) {
      copy.indexes.push_back(page - part.first_page);
      copy.pages.push_back(stage.table[page - first_page]);
    }
    if (copy.pages.empty()) continue;
    Arrival::Layer& layer = arrival->layers_[part.layer];
    if (resume[index] < end_page * PageTokens() && part.first_page + part.pages >= end_page) {
      layer.copies.insert(layer.copies.begin(), std::move(copy));
      ++layer.shared;
    } else {
      layer.copies.push_back(std::move(copy));
    }
  }
  if (log_ != nullptr) {
    for (int64_t layer = 0; layer < NumLayers(); ++layer) {
      const size_t index = pool_.layout().StageOf(layer);
      const UserStage& stage = user.stages[index];
      log_->Add({CacheOperation::kArrive, layer, user.user_id, stage.first,
                 std::max<int64_t>(0, resume[index] - stage.first), stage.table,
                 stage.first / PageTokens()});
    }
  }
  {
    const std::lock_guard lock(mutex_);
    ++counters_.arrivals;
    arrivals_.push_back(arrival);
  }
  arrivals_work_.notify_one();
  return arrival;
}

// The lowest layer of all first: a step waits for all its users' layer before it goes on.
void Transfers::RunArrivals() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrivals_work_.wait(lock, [&] { return stop_ || !arrivals_.empty(); });
    if (arrivals_.empty()) return;
    const auto next = std::min_element(
        arrivals_.begin(), arrivals_.end(),
        [](const auto& a, const auto& b) { return a->next_layer_ < b->next_layer_; });
    // Copied, since the list may grow meanwhile.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::shared_ptr<Arrival> arrival = *next;
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    BringLayer(arrival.get());
    const double seconds = Seconds(std::chrono::steady_clock::now() - begin);
    lock.lock();
    counters_.arrival_seconds += seconds;
    if (arrival->layers_in_ < NumLayers()) continue;
    arrivals_.erase(std::find(arrivals_.begin(), arrivals_.end(), arrival));
  }
}

void Transfers::BringLayer(Arrival* arrival) {
  const int64_t layer = arrival->next_layer_++;
  const Arrival::Layer& part = arrival->layers_[layer];
  for (size_t i = 0; i < part.copies.size(); ++i) {
    if (i > 0 && i == part.shared) arrival->Tell(&arrival->writable_layers_, layer + 1);
    const Arrival::Copy& copy = part.copies[i];
    const std::optional<PartBytes> bytes =
        tiers_->Read(arrival->tier_, arrival->user_id_, copy.part);
    if (!bytes) {
      arrival->failed_ = true;
      break;
    }
    CopyIn(layer, copy, bytes->bytes);
  }
  // Counted before it is told: who has waited for the arrival finds it counted.
  if (arrival->failed_) {
    const std::lock_guard lock(mutex_);
    ++counters_.arrivals_failed;
  }
  const int64_t layers = arrival->failed_ ? NumLayers() : layer + 1;
  arrival->Tell(&arrival->writable_layers_, layers);
  arrival->Tell(&arrival->layers_in_, layers);
}

void Transfers::CopyIn(int64_t layer, const Arrival::Copy& copy,
                       std::span<const std::byte> from) const {
  const KvLayout& layout = pool_.layout();
  const int64_t key_bytes = layout.page.KeyPageBytes();
  const int64_t value_bytes = layout.page.ValuePageBytes();
  std::byte* keys = pool_.keys() + layout.key_offsets[layer];
  std::byte* values = pool_.values() + layout.value_offsets[layer];
  const std::byte* from_values = from.data() + copy.part.pages * key_bytes;
  for (size_t i = 0; i < copy.pages.size(); ++i) {
    std::memcpy(keys + copy.pages[i] * key_bytes, from.data() + copy.indexes[i] * key_bytes,
                static_cast<size_t>(key_bytes));
    std::memcpy(values + copy.pages[i] * value_bytes, from_values + copy.indexes[i] * value_bytes,
                static_cast<size_t>(value_bytes));
  }
}

void Transfers::CopyOut(int64_t layer, SavedPart* part) const {
  const KvLayout& layout = pool_.layout();
  part->buffer.emplace(part->part.bytes);
  std::byte* to = part->buffer->data.get();
  const auto copy = [&](const std::byte* base, int64_t page_bytes) {
    for (const int32_t page : part->pages) {
      std::memcpy(to, base + page * page_bytes, static_cast<size_t>(page_bytes));
      to += page_bytes;
    }
  };
  copy(pool_.keys() + layout.key_offsets[layer], layout.page.KeyPageBytes());
  copy(pool_.values() + layout.value_offsets[layer], layout.page.ValuePageBytes());
}

std::shared_ptr<Transfers::Save> Transfers::MakeSave(const UserState& user,
                                                     const std::vector<SavedStage>& stages,
                                                     bool stays) {
  auto save = std::make_shared<Save>();
  StateHeader& header = save->header;
  header.identity = tiers_->identity();
  header.user_id = user.user_id;
  header.version = UniqueNumber();
  header.num_context = user.num_context;
  header.stages = stages;
  header.tokens.assign(user.tokens.begin(),
                       user.tokens.begin() + (stages[0].count - stages[0].first));
  save->to = tiers_->all();
  save->layers.resize(NumLayers());
  const TierMask lacking = tiers_->Lacking(user.user_id, user.saved->version);
  for (int64_t layer = 0; layer < NumLayers(); ++layer) {
    AddParts(user, layer, stages[pool_.layout().StageOf(layer)], lacking, stays, save.get());
  }
  if (stays && stages.size() == 1) return save;  // full chunks: no page is open and nothing waits
  for (size_t i = 0; i < stages.size(); ++i) save->staged_bytes += BesideBytes(pool_.layout(), i);
  return save;
}

void Transfers::AddBeside(const UserState& user, StateHeader* header) const {
  for (size_t i = 0; i < user.stages.size(); ++i) {
    const std::span<const float> waiting = user.Waiting(pool_.layout(), i);
    header->waiting.insert(header->waiting.end(), waiting.begin(), waiting.end());
    const std::span<const std::byte> open = user.Open(pool_.layout(), i);
    header->open.insert(header->open.end(), open.begin(), open.end());
  }
}

bool Transfers::IsOpen(const StatePart& part, const StateHeader& header) const {
  const int64_t count = header.stages[pool_.layout().StageOf(part.layer)].count;
  return (part.first_page + part.pages) * PageTokens() > count;
}

// Parts that are saved and still whole stay; they are written only where they are lacking. Where
// the user stays in the pool, a page that the next step fills up is a part by itself: it is copied.
void Transfers::AddParts(const UserState& user, int64_t layer, const SavedStage& stage,
                         TierMask lacking, bool stays, Save* save) const {
  const KvLayout& layout = pool_.layout();
  const size_t index = pool_.layout().StageOf(layer);
  const SavedState& saved = *user.saved;
  const int64_t saved_count = saved.version == 0 ? 0 : saved.stages[index].count;
  const int64_t user_first_page = user.stages[index].first / PageTokens();
  const int64_t end_page = stage.count > stage.first ? CeilDiv(stage.count, PageTokens()) : 0;
  const int64_t full_end = stage.count / PageTokens();
  int64_t page = stage.first / PageTokens();
  while (page < end_page) {
    int64_t end = std::min((page / chunk_pages_ + 1) * chunk_pages_, end_page);
    if (stays && page < full_end) end = std::min(end, full_end);
    SavedPart part;
    const auto old = std::find_if(saved.parts.begin(), saved.parts.end(), [&](const StatePart& p) {
      return p.layer == layer && p.first_page <= page && p.first_page + p.pages == end;
    });
    // Pages that the user has given up meanwhile can't be written again.
    const bool is_kept = old != saved.parts.end() &&
                         std::min(end * PageTokens(), stage.count) <= saved_count &&
                         (lacking == 0 || old->first_page >= user_first_page);
    if (is_kept) {
      part.part = *old;
      part.to = lacking;
    } else {
      part.is_new = true;
      part.part = {layer, page, end - page, 0, 0, UniqueNumber()};
      part.part.bytes = part.part.pages * LayerPageBytes(layout.page);
      part.to = tiers_->all();
    }
    if (part.to != 0) {
      const auto& table = user.stages[index].table;
      const auto begin = table.begin() + (part.part.first_page - user_first_page);
      part.pages.assign(begin, begin + part.part.pages);
      if (!stays || IsOpen(part.part, save->header)) save->staged_bytes += part.part.bytes;
    }
    save->layers[layer].push_back(std::move(part));
    page = end;
  }
}

void Transfers::BeginSave(const UserState& user, const std::vector<int64_t>& counts) {
  if (user.saved->busy || user.saved->stale) return;
  const int64_t chunk = chunk_pages_ * PageTokens();
  const int64_t full = counts[0] / chunk * chunk;
  const int64_t known = user.saved->version == 0 ? 0 : user.saved->stages[0].count;
  if (full <= std::max(known, user.first())) return;
  std::vector<SavedStage> stages;
  for (size_t i = 0; i < counts.size(); ++i) stages.push_back({user.stages[i].first, counts[i]});
  if (stages.size() == 1) stages[0].count = full;
  std::shared_ptr<Save> save = MakeSave(user, stages, true);
  save->saved = user.saved;
  save->user = &user;
  {
    const std::lock_guard lock(mutex_);
    if (!TakesStaged(*save)) {
      ++counters_.saves_dropped;
      return;
    }
    staged_bytes_ += save->staged_bytes;
    ++running_;
    ++counters_.saves;
  }
  user.saved->busy = true;
  step_saves_.push_back(std::move(save));
}

bool Transfers::TakesStaged(const Save& save) const {
  return save.staged_bytes == 0 || staged_bytes_ == 0 ||
         staged_bytes_ + save.staged_bytes <= max_staged_bytes_;
}

void Transfers::LayerDone(int64_t layer) {
  for (const auto& save : step_saves_) {
    for (SavedPart& part : save->layers[layer]) {
      if (part.to != 0 && IsOpen(part.part, save->header)) CopyOut(layer, &part);
    }
    Enqueue({save, layer, layer + 1, false});
  }
}

void Transfers::EndStep() {
  for (const auto& save : step_saves_) {
    if (save->header.stages.size() > 1) AddBeside(*save->user, &save->header);
    Enqueue({save, 0, 0, true});
  }
  step_saves_.clear();
}

void Transfers::SaveLeaving(const UserState& user, bool wait) {
  std::vector<SavedStage> stages;
  for (const UserStage& stage : user.stages) stages.push_back({stage.first, stage.count});
  const SavedState& saved = *user.saved;
  const bool clean = saved.version != 0 && saved.stages == stages;
  if (clean && tiers_->Lacking(user.user_id, saved.version) == 0) return;
  const std::shared_ptr<Save> save = MakeSave(user, stages, false);
  AddBeside(user, &save->header);
  {
    std::unique_lock lock(mutex_);
    if (wait) done_.wait(lock, [&] { return TakesStaged(*save); });
    if (!TakesStaged(*save)) {
      ++counters_.saves_dropped;
      return;
    }
    staged_bytes_ += save->staged_bytes;
    ++leaving_[user.user_id];
    ++running_;
    ++counters_.saves;
  }
  for (int64_t layer = 0; layer < NumLayers(); ++layer) {
    for (SavedPart& part : save->layers[layer]) {
      if (part.to != 0) CopyOut(layer, &part);
    }
  }
  Enqueue({save, 0, NumLayers(), true});
}

void Transfers::WaitForSave(const SavedState& saved) {
  if (!saved.busy) return;
  std::unique_lock lock(mutex_);
  ++counters_.waits;
  done_.wait(lock, [&] { return !saved.busy; });
}

void Transfers::Drain() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
}

void Transfers::Enqueue(SaveTask task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  work_.notify_one();
}

void Transfers::RunSaves() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const SaveTask task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    RunTask(task);
    lock.lock();
  }
}

void Transfers::RunTask(const SaveTask& task) {
  for (int64_t layer = task.begin_layer; layer < task.end_layer; ++layer) {
    WriteLayer(layer, task.save.get());
  }
  if (task.commit) Finish(task.save.get());
}

void Transfers::WriteLayer(int64_t layer, Save* save) {
  for (SavedPart& part : save->layers[layer]) {
    const TierMask to = part.to & save->to;
    if (to != 0) {
      if (!part.buffer) CopyOut(layer, &part);
      const PartBytes bytes = part.buffer->Share();
      if (part.is_new) part.part.checksum = Checksum(bytes.bytes);
      const TierMask done = tiers_->Write(save->header.user_id, part.part, bytes, to);
      save->to &= done | ~to;
      part.buffer.reset();
    }
    save->header.parts.push_back(part.part);
  }
}

void Transfers::Finish(Save* save) {
  tiers_->Commit(save->header, save->to);
  const std::lock_guard lock(mutex_);
  if (save->saved != nullptr) {
    save->saved->version = save->header.version;
    save->saved->stages = save->header.stages;
    save->saved->parts = save->header.parts;
    save->saved->busy = false;
  } else {
    const auto leaving = leaving_.find(save->header.user_id);
    if (--leaving->second == 0) leaving_.erase(leaving);
  }
  staged_bytes_ -= save->staged_bytes;
  --running_;
  done_.notify_all();
}

}  // namespace hstu
