#include "engine/user_tiers.h"

#include <utility>
#include <vector>

namespace hstu {

UserTiers::UserTiers(std::unique_ptr<TierStack> tiers, int64_t chunk_pages, KvCache* cache,
                     CacheLog* log)
    : cache_(*cache), transfers_(std::move(tiers), &cache->pool(), chunk_pages, log) {
  cache_.SetWatcher(this);
}

UserTiers::~UserTiers() {
  cache_.SetWatcher(nullptr);
  transfers_.Drain();
  cache_.ForEach([&](const UserState& user) { transfers_.SaveLeaving(user, true); });
}

std::shared_ptr<Arrival> UserTiers::Bring(const TierStack::Found& found, const UserState& user,
                                          const HistoryPlan& plan) {
  std::vector<int64_t> resume;
  bool any = false;
  for (const StageSpan& stage : plan.stages) {
    resume.push_back(stage.resume);
    any = any || stage.resume > stage.first;
  }
  return any ? transfers_.Bring(found, user, resume) : nullptr;
}

void UserTiers::EndStep(UserState* user) {
  if (!user->saved->stale) return;
  transfers_.tiers().Erase(user->user_id);
  user->saved->stale = false;
}

void UserTiers::ForgetAll() {
  transfers_.Drain();
  cache_.ForgetAll();
  TierStack& tiers = transfers_.tiers();
  for (size_t i = 0; i < tiers.size(); ++i) {
    for (const std::string& user : tiers.tier(i).Users()) tiers.Erase(user);
  }
}

// The state in the tiers is still needed where it is just coming back; it goes with EndStep.
void UserTiers::WillCut(UserState* user, bool edited) {
  transfers_.WaitForSave(*user->saved);
  if (!edited) return;
  user->saved->version = 0;
  user->saved->stages.clear();
  user->saved->parts.clear();
  user->saved->stale = true;
}

void UserTiers::WillForget(const UserState& user) {
  transfers_.WaitForSave(*user.saved);
  transfers_.tiers().Erase(user.user_id);
}

}  // namespace hstu
