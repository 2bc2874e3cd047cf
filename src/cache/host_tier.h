// States in memory beside the pool, without its pages: compact, bounded, the least recently used
// go.
#ifndef HSTU_CACHE_HOST_TIER_H_
#define HSTU_CACHE_HOST_TIER_H_

#include <map>
#include <mutex>

#include "cache/lru_bytes.h"
#include "cache/tier.h"

namespace hstu {

class HostTier : public Tier {
 public:
  // `max_bytes`: of all headers and parts.
  explicit HostTier(int64_t max_bytes) : max_bytes_(max_bytes) {}

  const char* name() const override { return "host"; }
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

 private:
  struct State {
    std::string header;  // empty: none yet
    uint64_t version = 0;
    std::map<uint64_t, PartBytes> parts;  // by id
  };

  Status MakeRoom(const std::string& user_id, int64_t bytes);

  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  LruBytes<State> states_;
  int64_t users_evicted_ = 0;
};

}  // namespace hstu

#endif  // HSTU_CACHE_HOST_TIER_H_
