// What lies below the pool: a store of users' states that may forget any of them at any time.
#ifndef HSTU_CACHE_TIER_H_
#define HSTU_CACHE_TIER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/saved_state.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct TierUsage {
  int64_t users = 0;
  int64_t bytes = 0;          // of the states that are kept
  int64_t users_evicted = 0;  // for lack of room, the least recently used first
};

// Safe to call from many threads. A tier looks at no checksum: who reads does. Errors (kIo) are
// those of the device; the caller counts them and goes on as if nothing were kept.
class Tier {
 public:
  virtual ~Tier() = default;

  virtual const char* name() const = 0;

  // What Commit wrote of the user's header, who counts as used now. Nothing: not kept.
  virtual Result<std::optional<std::string>> ReadHeader(const std::string& user_id) = 0;
  // A part that the header names. Nothing: gone meanwhile.
  virtual Result<std::optional<PartBytes>> ReadPart(const std::string& user_id,
                                                    const StatePart& part) = 0;

  // Whether the user's state is the one of `version`: then only parts that it lacks need writing.
  virtual bool Holds(const std::string& user_id, uint64_t version) = 0;

  // Keeps a part of the state that the next Commit of the user makes whole.
  virtual Status WritePart(const std::string& user_id, const StatePart& part,
                           const PartBytes& bytes) = 0;
  // Replaces the user's state: of its parts and of those written since, what the header doesn't
  // name goes. All or nothing, whatever happens meanwhile.
  virtual Status Commit(const StateHeader& header) = 0;

  // Forgets the user, parts without a header included.
  virtual void Erase(const std::string& user_id) = 0;

  virtual TierUsage usage() const = 0;
  // In no order; empty where only the store itself knows.
  virtual std::vector<std::string> Users() const = 0;
};

}  // namespace hstu

#endif  // HSTU_CACHE_TIER_H_
