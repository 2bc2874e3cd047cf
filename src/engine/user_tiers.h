// Joins the pool of users with the tiers below it, for the ranker, which holds its lock at every
// call but Find.
#ifndef HSTU_ENGINE_USER_TIERS_H_
#define HSTU_ENGINE_USER_TIERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/kv_cache.h"
#include "cache/transfers.h"
#include "engine/sequence.h"

namespace hstu {

// What the tiers know of a user who isn't in the pool.
struct TierLookup {
  const std::string user_id;
  const size_t from;  // the first tier that is asked
  std::optional<TierStack::Found> found;
  // The user has been in the pool since, or was forgotten: the tiers may know something else now.
  bool stale = false;
};

class UserTiers : public KvCacheWatcher {
 public:
  // `log` may be null. Cache and log must outlive it; the cache tells it what leaves.
  UserTiers(std::unique_ptr<TierStack> tiers, int64_t chunk_pages, KvCache* cache, CacheLog* log);
  // Saves what the pool holds.
  ~UserTiers() override;

  Transfers& transfers() { return transfers_; }
  const Transfers& transfers() const { return transfers_; }

  // A slow tier must not hold up others' requests, so users are looked up without the lock: between
  // BeginLookup and what is done with the result the user may come and go, which makes it stale.
  std::shared_ptr<TierLookup> BeginLookup(const std::string& user_id, size_t from);
  void Find(TierLookup* lookup) { lookup->found = transfers_.Find(lookup->user_id, lookup->from); }
  // The user came into the pool, or might have: lookups that began before are stale.
  void Entered(const std::string& user_id);

  // Begins to bring back what `plan` goes on from, of a user who was adopted from `found`. Null
  // where it goes on from nothing.
  std::shared_ptr<Arrival> Bring(const TierStack::Found& found, const UserState& user,
                                 const HistoryPlan& plan);

  // Before the answers of a step that ran on the user: what is kept of another stream goes.
  void EndStep(UserState* user);

  // Forgets all users, who must not be pinned.
  void ForgetAll();

  void WillEvict(const UserState& user) override { transfers_.SaveLeaving(user, false); }
  void WillCut(UserState* user, bool edited) override;
  void WillForget(const UserState& user) override;

 private:
  template <typename Which>
  void MakeStale(const Which& which);

  KvCache& cache_;
  Transfers transfers_;
  std::vector<std::weak_ptr<TierLookup>> lookups_;  // under way, or not used yet
};

}  // namespace hstu

#endif  // HSTU_ENGINE_USER_TIERS_H_
