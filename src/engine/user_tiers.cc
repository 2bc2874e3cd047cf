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

std::shared_ptr<TierLookup> UserTiers::BeginLookup(const std::string& user_id, size_t from) {
  auto lookup = std::make_shared<TierLookup>(TierLookup{user_id, from, {}});
  lookups_.push_back(lookup);
  return lookup;
}

void UserTiers::Entered(const std::string& user_id) {
  MakeStale([&](const TierLookup& lookup) { return lookup.user_id == user_id; });
}

template <typename Which>
void UserTiers::MakeStale(const Which& which) {
  std::erase_if(lookups_, [&](const std::weak_ptr<TierLookup>& known) {
    const std::shared_ptr<TierLookup> lookup = known.lock();
    if (lookup == nullptr) return true;
    lookup->stale = which(*lookup);
    return lookup->stale;
  });
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
  MakeStale([](const TierLookup&) { return true; });
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
