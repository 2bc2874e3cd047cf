#include "cache/kv_cache.h"

#include <algorithm>
#include <utility>

#include "base/aligned.h"

namespace hstu {

KvCache::KvCache(PagePool pool, int64_t max_history_tokens)
    : pool_(std::move(pool)), max_history_tokens_(max_history_tokens) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;

const UserState* KvCache::Find(std::string_view user_id) const {
  const auto found = users_.find(user_id);
  return found == users_.end() ? nullptr : found->second.get();
}

std::optional<int64_t> KvCache::FirstDifference(const UserState& user,
                                                const HistoryTokens& history) {
  const auto size = static_cast<int64_t>(history.tokens.size());
  const int64_t begin = std::max(user.first, history.begin);
  const int64_t end = std::min(user.count, history.begin + size);
  int64_t position = begin;
  while (position < end &&
         user.tokens[position - user.first] == history.tokens[position - history.begin]) {
    ++position;
  }
  // What is shorter than the evicted part differs there.
  if (history.begin + size < user.first) return std::nullopt;
  const bool differs = position < end;
  if (differs && user.first > 0 && position <= user.first) return std::nullopt;
  return position;
}

UserState* KvCache::FindOrAdd(const std::string& user_id) {
  const auto found = users_.find(user_id);
  if (found != users_.end()) {
    Touch(found->second.get());
    return found->second.get();
  }
  auto user = std::make_unique<UserState>();
  user->user_id = user_id;
  UserState* added = user.get();
  users_.emplace(user_id, std::move(user));
  Touch(added);
  return added;
}

UserState* KvCache::Extend(const std::string& user_id, const HistoryTokens& history,
                           int64_t resume) {
  const int64_t end = history.begin + static_cast<int64_t>(history.tokens.size());
  const UserState* known = Find(user_id);
  const int64_t first = known == nullptr ? 0 : known->first;
  const int64_t kept = resume - first;
  const int64_t over = kept + (end - resume) - max_history_tokens_;
  const int64_t unit = PageTokens();
  const int64_t drop = over > 0 ? std::min(CeilDiv(over, unit) * unit, kept) : 0;
  const int64_t pages = end == first + drop ? 0 : CeilDiv(end, unit) - (first + drop) / unit;

  UserState* user = FindOrAdd(user_id);
  ++user->pins;  // no victim of its own growth
  if (!MakeFree(pages - static_cast<int64_t>(user->table.size()))) {
    --user->pins;
    if (known == nullptr) Erase(user_id);
    return nullptr;
  }
  CutTail(user, resume);
  CutFront(user, drop);
  if (known == nullptr) user->num_context = history.num_context;
  Append(user, history, resume);
  counters_.tokens_evicted += drop;
  return user;
}

UserState* KvCache::Restart(const std::string& user_id, const HistoryTokens& history,
                            int64_t skip) {
  const int64_t end = static_cast<int64_t>(history.tokens.size());
  const int64_t pages = end == skip ? 0 : CeilDiv(end, PageTokens()) - skip / PageTokens();
  UserState* user = FindOrAdd(user_id);
  ++user->pins;
  if (!MakeFree(pages - static_cast<int64_t>(user->table.size()))) {
    --user->pins;
    if (user->count == 0) Erase(user_id);
    return nullptr;
  }
  ReleasePages(user);
  user->tokens.clear();
  user->first = user->count = skip;
  user->num_context = history.num_context;
  Append(user, history, skip);
  return user;
}

// Evicts the users that were not used for longest until `pages` are free.
bool KvCache::MakeFree(int64_t pages) {
  UserState* victim = oldest_;
  while (pool_.free_pages() < pages && victim != nullptr) {
    UserState* next = victim->newer;
    if (victim->pins == 0) {
      Erase(victim->user_id);
      ++counters_.users_evicted;
    }
    victim = next;
  }
  return pool_.free_pages() >= pages;
}

// Forgets the positions from `count` on.
void KvCache::CutTail(UserState* user, int64_t count) {
  user->count = count;
  user->tokens.resize(count - user->first);
  const int64_t pages =
      user->kept() == 0 ? 0 : CeilDiv(count, PageTokens()) - user->first / PageTokens();
  while (static_cast<int64_t>(user->table.size()) > pages) {
    pool_.Give(user->table.back());
    user->table.pop_back();
  }
}

// Forgets the oldest `tokens` positions.
void KvCache::CutFront(UserState* user, int64_t tokens) {
  const int64_t first_page = user->first / PageTokens();
  user->first += tokens;
  user->tokens.erase(user->tokens.begin(), user->tokens.begin() + tokens);
  const auto table_pages = static_cast<int64_t>(user->table.size());
  const int64_t gone = user->kept() == 0
                           ? table_pages
                           : std::min(user->first / PageTokens() - first_page, table_pages);
  for (int64_t i = 0; i < gone; ++i) pool_.Give(user->table[i]);
  user->table.erase(user->table.begin(), user->table.begin() + gone);
}

void KvCache::Append(UserState* user, const HistoryTokens& history, int64_t from) {
  user->tokens.insert(user->tokens.end(), history.tokens.begin() + (from - history.begin),
                      history.tokens.end());
  user->count = history.begin + static_cast<int64_t>(history.tokens.size());
  if (user->kept() == 0) return;
  const int64_t pages = CeilDiv(user->count, PageTokens()) - user->first / PageTokens();
  while (static_cast<int64_t>(user->table.size()) < pages) user->table.push_back(pool_.Take());
}

void KvCache::ReleasePages(UserState* user) {
  for (const int32_t page : user->table) pool_.Give(page);
  user->table.clear();
}

void KvCache::Erase(std::string_view user_id) {
  const auto found = users_.find(user_id);
  if (found == users_.end()) return;
  ReleasePages(found->second.get());
  Unlink(found->second.get());
  users_.erase(found);
}

void KvCache::Touch(UserState* user) {
  if (user == newest_) return;
  Unlink(user);
  user->older = newest_;
  if (newest_ != nullptr) newest_->newer = user;
  newest_ = user;
  if (oldest_ == nullptr) oldest_ = user;
}

void KvCache::Unlink(UserState* user) {
  if (user->newer != nullptr) user->newer->older = user->older;
  if (user->older != nullptr) user->older->newer = user->newer;
  if (newest_ == user) newest_ = user->older;
  if (oldest_ == user) oldest_ = user->newer;
  user->newer = user->older = nullptr;
}

}  // namespace hstu
