// States on disk, in RocksDB: bounded, the least recently used go; what was committed is there
// after a restart, killed or not.
#ifndef HSTU_CACHE_DISK_TIER_H_
#define HSTU_CACHE_DISK_TIER_H_

#include <chrono>
#include <memory>
#include <mutex>

#include "cache/lru_bytes.h"
#include "cache/tier.h"

namespace rocksdb {
class DB;
class WriteBatch;
}  // namespace rocksdb

namespace hstu {

class DiskTier : public Tier {
 public:
  // The least that the store's own files leave room in, bytes.
  static constexpr int64_t kMinBytes = int64_t{16} << 20;

  // `folder` is made if need be; nobody else may have it open. `max_bytes` bounds all files in it.
  // Contents that are damaged beyond single states are thrown away. Errors: kBadArgument for a
  // bound that is too small, kIo for a folder that can't be used.
  static Result<std::unique_ptr<DiskTier>> Open(const std::string& folder, int64_t max_bytes);
  ~DiskTier() override;

  const char* name() const override { return "disk"; }
  Result<std::optional<std::string>> ReadHeader(const std::string& user_id) override;
  Result<std::optional<PartBytes>> ReadPart(const std::string& user_id,
                                            const StatePart& part) override;
  bool Holds(const std::string& user_id, uint64_t version) override;
  Status WritePart(const std::string& user_id, const StatePart& part,
                   const PartBytes& bytes) override;
  Status Commit(const StateHeader& header) override;
  void Erase(const std::string& user_id) override;
  TierUsage usage() const override;
  std::vector<std::string> Users() const override;

  // Of all files in the folder.
  int64_t FileBytes() const;

 private:
  struct State {
    uint64_t version = 0;  // 0: nothing committed
    int64_t committed_bytes = 0;
    std::vector<StatePart> pending;  // written, not committed
  };

  DiskTier(std::string folder, int64_t max_bytes);
  Status OpenStore();
  bool LoadIndex();
  void DropUncommitted();
  std::vector<StatePart> CommittedParts(const std::string& user_id) const;
  Status MakeRoom(const std::string& user_id, int64_t bytes);
  bool EvictOldest(const std::string& but);
  void Reclaim();
  Status Write(rocksdb::WriteBatch* batch);

  const std::string folder_;
  const int64_t max_bytes_;
  std::unique_ptr<rocksdb::DB> store_;
  mutable std::mutex mutex_;  // of what follows; never held while the store reads or writes
  LruBytes<State> states_;
  int64_t users_evicted_ = 0;
  std::chrono::steady_clock::time_point last_resume_;
};

}  // namespace hstu

#endif  // HSTU_CACHE_DISK_TIER_H_
