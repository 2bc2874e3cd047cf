// The tiers below the pool as one: looked up from the top, written to all. What a tier can't do is
// counted, and as if nothing were kept.
#ifndef HSTU_CACHE_TIER_STACK_H_
#define HSTU_CACHE_TIER_STACK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/tier.h"

namespace hstu {

// Bit i: tier i.
using TierMask = uint32_t;

struct TierCounters {
  std::string name;
  int64_t hits = 0;    // states that were found
  int64_t misses = 0;  // users that were looked up and not found
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t damaged = 0;  // headers and parts with a wrong checksum, or gone
  int64_t errors = 0;   // of the device, for lack of room too
  TierUsage usage;
};

class TierStack {
 public:
  TierStack(std::vector<std::unique_ptr<Tier>> tiers, std::string identity);

  size_t size() const { return tiers_.size(); }
  TierMask all() const { return (TierMask{1} << tiers_.size()) - 1; }
  const std::string& identity() const { return identity_; }
  const Tier& tier(size_t index) const { return *tiers_[index].tier; }

  struct Found {
    size_t tier = 0;
    StateHeader header;
  };
  // The user's state in the first tier from `from` on that has one.
  std::optional<Found> Find(const std::string& user_id, size_t from);

  // What one tier keeps of a user, for a look inside: nothing is counted.
  std::optional<StateHeader> HeaderIn(size_t tier, const std::string& user_id);

  // A part's bytes, which are those that were written. Nothing: the tier forgets the user.
  std::optional<PartBytes> Read(size_t tier, const std::string& user_id, const StatePart& part);

  // Those that don't hold the user's state of `version`.
  TierMask Lacking(const std::string& user_id, uint64_t version);

  // Returns the tiers that took it; the others forget the user.
  TierMask Write(const std::string& user_id, const StatePart& part, const PartBytes& bytes,
                 TierMask to);
  void Commit(const StateHeader& header, TierMask to);

  void Erase(const std::string& user_id);

  std::vector<TierCounters> counters() const;

 private:
  struct Counted {
    std::unique_ptr<Tier> tier;
    std::atomic<int64_t> hits = 0;
    std::atomic<int64_t> misses = 0;
    std::atomic<int64_t> bytes_read = 0;
    std::atomic<int64_t> bytes_written = 0;
    std::atomic<int64_t> damaged = 0;
    std::atomic<int64_t> errors = 0;
  };

  std::optional<StateHeader> FindIn(Counted* counted, const std::string& user_id);

  std::vector<Counted> tiers_;
  const std::string identity_;
};

}  // namespace hstu

#endif  // HSTU_CACHE_TIER_STACK_H_
