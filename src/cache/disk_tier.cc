#include "cache/disk_tier.h"

#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/hash.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

// Kinds of keys: their first letter.
constexpr char kHeader = 'h';   // + user: the state's header
constexpr char kUsage = 'm';    // + user: Usage, all that is read at start
constexpr char kPart = 'p';     // + user + id: a part's bytes
constexpr char kPending = 'w';  // + user + id: a part that no header names yet

// A file that says that all states in the store are what they were when they were last used.
constexpr const char* kValid = "HSTU_VALID";
// States take at most this share of the bound: the rest is for what was deleted and is not yet
// collected, for the log and for collecting.
constexpr double kStatesShare = 0.6;
constexpr double kReclaimAt = 0.85;
constexpr int kReclaims = 3;
constexpr std::chrono::seconds kResumeEvery(1);

struct Usage {
  uint64_t version;
  int64_t bytes;
  uint64_t stamp;  // ascends with commits
  uint64_t checksum;

  uint64_t Sum() const {
    return Checksum(std::as_bytes(std::span(this, 1)).first(offsetof(Usage, checksum)));
  }
};

std::string Key(char kind, const std::string& user_id) { return kind + user_id; }

std::string Key(char kind, const std::string& user_id, uint64_t id) {
  std::string key = kind + user_id;
  key.append(reinterpret_cast<const char*>(&id), sizeof(id));
  return key;
}

rocksdb::Slice SliceOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Our checksums judge; those of the store would make damage an error of the whole store.
rocksdb::ReadOptions PartReads() {
  rocksdb::ReadOptions options;
  options.verify_checksums = false;
  options.fill_cache = false;
  return options;
}

Error StoreError(const std::string& folder, const rocksdb::Status& status) {
  return MakeError(ErrorCode::kIo, "disk tier {}: {}", folder, status.ToString());
}

rocksdb::Options StoreOptions(int64_t max_bytes) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;  // K and V don't compress
  options.write_buffer_size = std::clamp(max_bytes / 32, kMiB, 64 * kMiB);
  options.max_total_wal_size = 2 * options.write_buffer_size;
  // Parts lie beside the sorted keys, so that sorting doesn't move them.
  options.enable_blob_files = true;
  options.min_blob_size = 1024;
  options.blob_file_size = std::clamp(max_bytes / 32, kMiB, 256 * kMiB);
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_age_cutoff = 0.5;
  options.max_background_jobs = 2;
  options.info_log_level = rocksdb::FATAL_LEVEL;
  options.keep_log_file_num = 1;
  options.max_manifest_file_size = kMiB;
  options.max_open_files = 256;
  return options;
}

}  // namespace

Result<std::unique_ptr<DiskTier>> DiskTier::Open(const std::string& folder, int64_t max_bytes) {
  if (max_bytes < kMinBytes) {
    return MakeError(ErrorCode::kBadArgument,
                     "disk_bytes {}: a store needs at least {} for its own files", max_bytes,
                     kMinBytes);
  }
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return MakeError(ErrorCode::kIo, "disk {}: {}", folder, failed.message());
  std::unique_ptr<DiskTier> tier(new DiskTier(folder, max_bytes));
  HSTU_RETURN_IF_ERROR(tier->OpenStore());
  if (!fs::exists(fs::path(folder) / kValid) || !tier->LoadIndex()) {
    tier->states_ = {};
    tier->store_.reset();
    rocksdb::DestroyDB(folder, rocksdb::Options());
    HSTU_RETURN_IF_ERROR(tier->OpenStore());
  }
  std::ofstream valid(fs::path(folder) / kValid);
  if (!valid) return MakeError(ErrorCode::kIo, "disk {}: no file can be made in it", folder);
  tier->DropUncommitted();
  return tier;
}

DiskTier::DiskTier(std::string folder, int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}
DiskTier::~DiskTier() = default;

Status DiskTier::OpenStore() {
  const rocksdb::Options options = StoreOptions(max_bytes_);
  rocksdb::DB* store = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, folder_, &store);
  if (status.IsCorruption()) {
    rocksdb::DestroyDB(folder_, rocksdb::Options());
    status = rocksdb::DB::Open(options, folder_, &store);
  }
  if (!status.ok()) return StoreError(folder_, status);
  store_.reset(store);
  return {};
}

// Users by their last commit. False: the keys can't be read.
bool DiskTier::LoadIndex() {
  struct Found {
    std::string user_id;
    Usage usage;
  };
  std::vector<Found> all;
  const std::unique_ptr<rocksdb::Iterator> at(store_->NewIterator(rocksdb::ReadOptions()));
  for (at->Seek(std::string(1, kUsage)); at->Valid() && at->key()[0] == kUsage; at->Next()) {
    Found found{at->key().ToString().substr(1), {}};
    if (at->value().size() != sizeof(Usage)) return false;
    std::memcpy(&found.usage, at->value().data(), sizeof(Usage));
    if (found.usage.checksum != found.usage.Sum()) return false;
    all.push_back(std::move(found));
  }
  if (!at->status().ok()) return false;
  std::sort(all.begin(), all.end(),
            [](const Found& a, const Found& b) { return a.usage.stamp < b.usage.stamp; });
  for (const Found& found : all) {
    auto* user = states_.Touch(found.user_id);
    user->entry.version = found.usage.version;
    user->entry.committed_bytes = found.usage.bytes;
    states_.Charge(user, found.usage.bytes);
  }
  return true;
}

// Parts of saves that a killed process left.
void DiskTier::DropUncommitted() {
  rocksdb::WriteBatch batch;
  const std::unique_ptr<rocksdb::Iterator> at(store_->NewIterator(rocksdb::ReadOptions()));
  for (at->Seek(std::string(1, kPending)); at->Valid() && at->key()[0] == kPending; at->Next()) {
    std::string part = at->key().ToString();
    batch.Delete(part);
    part[0] = kPart;
    batch.Delete(part);
  }
  if (batch.Count() > 0) store_->Write(rocksdb::WriteOptions(), &batch);
}

Result<std::optional<std::string>> DiskTier::ReadHeader(const std::string& user_id) {
  {
    const std::lock_guard lock(mutex_);
    const auto* user = states_.Find(user_id);
    if (user == nullptr || user->entry.version == 0) return std::optional<std::string>();
    states_.Touch(user_id);
  }
  std::string header;
  const rocksdb::Status status =
      store_->Get(rocksdb::ReadOptions(), Key(kHeader, user_id), &header);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return StoreError(folder_, status);
  return std::optional(std::move(header));
}

Result<std::optional<PartBytes>> DiskTier::ReadPart(const std::string& user_id,
                                                    const StatePart& part) {
  auto slice = std::make_shared<rocksdb::PinnableSlice>();
  const rocksdb::Status status = store_->Get(PartReads(), store_->DefaultColumnFamily(),
                                             Key(kPart, user_id, part.id), slice.get());
  if (status.IsNotFound()) return std::optional<PartBytes>();
  if (!status.ok()) return StoreError(folder_, status);
  return std::optional(PartBytes{std::as_bytes(std::span(slice->data(), slice->size())), slice});
}

bool DiskTier::Holds(const std::string& user_id, uint64_t version) {
  const std::lock_guard lock(mutex_);
  const auto* user = states_.Find(user_id);
  return user != nullptr && user->entry.version != 0 && user->entry.version == version;
}

Status DiskTier::WritePart(const std::string& user_id, const StatePart& part,
                           const PartBytes& bytes) {
  HSTU_RETURN_IF_ERROR(MakeRoom(user_id, part.bytes));
  rocksdb::WriteBatch batch;
  batch.Put(Key(kPart, user_id, part.id), SliceOf(bytes.bytes));
  batch.Put(Key(kPending, user_id, part.id), rocksdb::Slice());
  HSTU_RETURN_IF_ERROR(Write(&batch));
  const std::lock_guard lock(mutex_);
  auto* user = states_.Touch(user_id);
  user->entry.pending.push_back(part);
  states_.Charge(user, part.bytes);
  return {};
}

Status DiskTier::Commit(const StateHeader& header) {
  const std::string text = SerializeHeader(header);
  std::set<uint64_t> named;
  for (const StatePart& part : header.parts) named.insert(part.id);
  std::vector<StatePart> parts = CommittedParts(header.user_id);
  const size_t committed = parts.size();
  {
    const std::lock_guard lock(mutex_);
    if (const auto* user = states_.Find(header.user_id)) {
      parts.insert(parts.end(), user->entry.pending.begin(), user->entry.pending.end());
    }
  }
  rocksdb::WriteBatch batch;
  size_t there = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i >= committed) batch.Delete(Key(kPending, header.user_id, parts[i].id));
    if (named.contains(parts[i].id)) {
      ++there;
    } else {
      batch.Delete(Key(kPart, header.user_id, parts[i].id));
    }
  }
  if (there != named.size()) {  // evicted meanwhile
    Erase(header.user_id);
    return MakeError(ErrorCode::kIo, "disk tier {}: no room for all of user {}", folder_,
                     header.user_id);
  }
  const int64_t bytes = header.PartBytes() + static_cast<int64_t>(text.size());
  // Unique numbers of one process ascend; those of the last one may not, which costs an order.
  Usage usage{header.version, bytes, 0, 0};
  usage.stamp = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
  usage.checksum = usage.Sum();
  batch.Put(Key(kHeader, header.user_id), text);
  batch.Put(Key(kUsage, header.user_id), SliceOf(std::as_bytes(std::span(&usage, 1))));
  HSTU_RETURN_IF_ERROR(Write(&batch));
  const std::lock_guard lock(mutex_);
  auto* user = states_.Touch(header.user_id);
  states_.Charge(user, bytes - user->bytes);
  user->entry = State{header.version, bytes, {}};
  return {};
}

void DiskTier::Erase(const std::string& user_id) {
  std::vector<StatePart> parts;
  {
    const std::lock_guard lock(mutex_);
    const auto* user = states_.Find(user_id);
    if (user == nullptr) return;
    parts = user->entry.pending;
    states_.Erase(user_id);
  }
  const std::vector<StatePart> committed = CommittedParts(user_id);
  parts.insert(parts.end(), committed.begin(), committed.end());
  rocksdb::WriteBatch batch;
  batch.Delete(Key(kHeader, user_id));
  batch.Delete(Key(kUsage, user_id));
  for (const StatePart& part : parts) {
    batch.Delete(Key(kPart, user_id, part.id));
    batch.Delete(Key(kPending, user_id, part.id));
  }
  // What can't be erased may be of another stream by the next start, which then finds no store. To
  // remove a file works on a full disk.
  if (Write(&batch).ok()) return;
  std::error_code ignored;
  fs::remove(fs::path(folder_) / kValid, ignored);
}

// Empty where there is no readable header.
std::vector<StatePart> DiskTier::CommittedParts(const std::string& user_id) const {
  std::string text;
  if (!store_->Get(rocksdb::ReadOptions(), Key(kHeader, user_id), &text).ok()) return {};
  const std::optional<StateHeader> header = ParseHeader(text);
  return header ? header->parts : std::vector<StatePart>();
}

TierUsage DiskTier::usage() const {
  const std::lock_guard lock(mutex_);
  return {states_.users(), states_.bytes(), users_evicted_};
}

std::vector<std::string> DiskTier::Users() const {
  const std::lock_guard lock(mutex_);
  return states_.Names();
}

int64_t DiskTier::FileBytes() const {
  int64_t bytes = 0;
  std::error_code ignored;  // files come and go meanwhile
  for (const auto& file : fs::directory_iterator(folder_, ignored)) {
    const auto size = file.file_size(ignored);
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

Status DiskTier::MakeRoom(const std::string& user_id, int64_t bytes) {
  const auto limit = static_cast<int64_t>(kStatesShare * static_cast<double>(max_bytes_));
  const auto states = [&] {
    const std::lock_guard lock(mutex_);
    return states_.bytes();
  };
  while (states() + bytes > limit) {
    if (!EvictOldest(user_id)) {
      return MakeError(ErrorCode::kIo, "disk tier {}: user {} alone takes more than {} bytes",
                       folder_, user_id, limit);
    }
  }
  // A part is written twice: to the log, then to its place.
  const auto full = [&](double share) {
    return FileBytes() + 2 * bytes > static_cast<int64_t>(share * static_cast<double>(max_bytes_));
  };
  for (int i = 0; i < kReclaims && full(kReclaimAt); ++i) {
    if (i > 0) EvictOldest(user_id);
    Reclaim();
  }
  if (!full(1.0)) return {};
  return MakeError(ErrorCode::kIo, "disk tier {}: its files are full with {} of {} bytes", folder_,
                   FileBytes(), max_bytes_);
}

bool DiskTier::EvictOldest(const std::string& but) {
  std::string victim;
  {
    const std::lock_guard lock(mutex_);
    const auto* oldest = states_.Oldest(but);
    if (oldest == nullptr) return false;
    victim = oldest->user_id;
    ++users_evicted_;
  }
  Erase(victim);
  return true;
}

// Gives what was deleted back to the file system.
void DiskTier::Reclaim() {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  store_->CompactRange(options, nullptr, nullptr);
}

// After an error such as a full disk the store refuses all writes until it is told to go on.
Status DiskTier::Write(rocksdb::WriteBatch* batch) {
  rocksdb::Status status = store_->Write(rocksdb::WriteOptions(), batch);
  if (status.ok()) return {};
  const auto now = std::chrono::steady_clock::now();
  bool resume = false;
  {
    const std::lock_guard lock(mutex_);
    resume = now - last_resume_ > kResumeEvery;
    if (resume) last_resume_ = now;
  }
  if (resume && store_->Resume().ok()) status = store_->Write(rocksdb::WriteOptions(), batch);
  if (status.ok()) return {};
  return StoreError(folder_, status);
}

}  // namespace hstu
