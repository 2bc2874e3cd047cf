// Joins the pool of users with the tiers below it, for the ranker, which holds its lock at every
// call.
#ifndef HSTU_ENGINE_USER_TIERS_H_
#define HSTU_ENGINE_USER_TIERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cache/kv_cache.h"
#include "cache/transfers.h"
#include "engine/sequence.h"

namespace hstu {

class UserTiers : public KvCacheWatcher {
 public:
  // `log` may be null. Cache and log must outlive it; the cache tells it what leaves.
  UserTiers(std::unique_ptr<TierStack> tiers, int64_t chunk_pages, KvCache* cache, CacheLog* log);
  // Saves what the pool holds.
  ~UserTiers() override;

  Transfers& transfers() { return transfers_; }
  const Transfers& transfers() const { return transfers_; }

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
  KvCache& cache_;
  Transfers transfers_;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_USER_TIERS_H_
