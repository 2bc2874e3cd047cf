#include "cache/kv_cache.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/aligned.h"

namespace hstu {
namespace {

// Fills `to`; returns what follows in `from`.
template <typename Iterator, typename T>
Iterator CopyTo(Iterator from, std::span<T> to) {
  std::copy_n(from, to.size(), to.begin());
  return from + static_cast<std::ptrdiff_t>(to.size());
}

}  // namespace

KvCache::KvCache(PagePool pool) : pool_(std::move(pool)) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;

const UserState* KvCache::Find(std::string_view user_id) const {
  const auto found = users_.find(user_id);
  return found == users_.end() ? nullptr : &found->user;
}

std::optional<int64_t> KvCache::FirstDifference(const UserState& user,
                                                const HistoryTokens& history) {
  const auto size = static_cast<int64_t>(history.tokens.size());
  if (history.begin + size < user.first()) return std::nullopt;
  int64_t position = std::max(user.first(), history.begin);
  const int64_t end = std::min(user.count(), history.begin + size);
  while (position < end &&
         user.tokens[position - user.first()] == history.tokens[position - history.begin]) {
    ++position;
  }
  return position;
}

std::optional<StagePositions> KvCache::ResumeAt(const UserState& user, const HistoryTokens& history,
                                                int64_t difference) const {
  StagePositions resume;
  if (difference == user.count()) {
    for (const UserStage& stage : user.stages) resume.push_back(stage.count);
  } else {
    resume = ResumeWithin(user, difference);
    if (user.first() > 0 && resume[0] <= user.first()) return std::nullopt;
  }
  const int64_t end = history.begin + static_cast<int64_t>(history.tokens.size());
  if (end - resume[0] > shape().max_history_tokens) return std::nullopt;
  return resume;
}

// ResumePositions, and with int8 pages further back: within a full page there is nothing to go on
// from but its first token.
StagePositions KvCache::ResumeWithin(const UserState& user, int64_t difference) const {
  StagePositions resume = ResumePositions(shape().stages, difference);
  if (shape().dtype != KvDType::kInt8) return resume;
  for (size_t i = 0; i < resume.size();) {
    const int64_t begin = resume[i] / PageTokens() * PageTokens();
    const bool is_open = begin == user.stages[i].count / PageTokens() * PageTokens();
    if (is_open || begin == resume[i]) {
      ++i;
      continue;
    }
    int64_t tokens = begin;
    for (size_t j = i; j > 0; --j) tokens *= shape().stages[j].aggregation.stride;
    resume = ResumePositions(shape().stages, tokens);
    i = 0;
  }
  return resume;
}

// Null where a new user would be one too many.
UserState* KvCache::FindOrAdd(const std::string& user_id) {
  const auto found = users_.find(user_id);
  if (found != users_.end()) {
    Touch(&found->user);
    return &found->user;
  }
  const int64_t most = pool_.layout().users;
  if (most > 0 && !EvictUntil([&] { return num_users() < most; })) return nullptr;
  UserState* user = &users_.emplace(user_id, shape().stages.size()).first->user;
  for (size_t i = 0; i < shape().stages.size(); ++i) {
    const int64_t bytes = BesideBytes(pool_.layout(), i);
    if (bytes > 0) user->stages[i].beside = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  if (watcher_ != nullptr) user->saved = std::make_shared<SavedState>();
  Touch(user);
  return user;
}

UserState* KvCache::Extend(const std::string& user_id, const HistoryTokens& history,
                           const StagePositions& resume) {
  const UserState& known = *Find(user_id);
  StagePositions first;
  for (const UserStage& stage : known.stages) first.push_back(stage.first);
  const int64_t end = history.begin + static_cast<int64_t>(history.tokens.size());
  const int64_t over = end - first[0] - shape().max_history_tokens;
  if (over > 0) {
    const int64_t unit = EvictionUnit(shape().stages, PageTokens());
    const int64_t drop = std::min(CeilDiv(over, unit) * unit, resume[0] - first[0]);
    const StagePositions kept = FirstWithout(shape().stages, first[0] + drop);
    // A window that still waits for inputs stays, and goes with the next eviction.
    for (size_t i = 0; i < first.size(); ++i) {
      first[i] = std::max(first[i], std::min(kept[i], resume[i]));
    }
  }
  StagePositions counts = resume;
  AdvanceTo(shape().stages, end, &counts);
  UserState* user = FindOrAdd(user_id);
  if (!Reserve(user, first, counts)) return nullptr;
  const bool edited = resume[0] < user->count();
  if (watcher_ != nullptr && (edited || first[0] > user->first())) watcher_->WillCut(user, edited);
  counters_.tokens_evicted += first[0] - user->first();
  // What is computed again before `history` begins is known by its tokens.
  const int64_t from = std::max(resume[0], history.begin);
  user->tokens.resize(from - user->first());
  user->tokens.erase(user->tokens.begin(), user->tokens.begin() + (first[0] - user->first()));
  for (size_t i = 0; i < first.size(); ++i) {
    CutTail(i, resume[i], &user->stages[i]);
    CutFront(i, first[i], &user->stages[i]);
  }
  Append(user, history, from, counts);
  return user;
}

UserState* KvCache::Restart(const std::string& user_id, const HistoryTokens& history,
                            int64_t skip) {
  const bool is_new = Find(user_id) == nullptr;
  const StagePositions first = FirstWithout(shape().stages, skip);
  StagePositions counts = first;
  AdvanceTo(shape().stages, static_cast<int64_t>(history.tokens.size()), &counts);
  UserState* user = FindOrAdd(user_id);
  if (user == nullptr) return nullptr;
  if (!Reserve(user, first, counts)) {
    if (is_new) Erase(user_id);
    return nullptr;
  }
  if (watcher_ != nullptr && !is_new) watcher_->WillCut(user, true);
  ReleasePages(user);
  user->tokens.clear();
  user->num_context = static_cast<int32_t>(history.num_context);
  for (size_t i = 0; i < first.size(); ++i)
    user->stages[i].first = user->stages[i].count = first[i];
  Append(user, history, skip, counts);
  return user;
}

UserState* KvCache::Adopt(const StateHeader& header) {
  UserState* user = FindOrAdd(header.user_id);
  if (user == nullptr) return nullptr;
  StagePositions first;
  StagePositions counts;
  for (const SavedStage& stage : header.stages) {
    first.push_back(stage.first);
    counts.push_back(stage.count);
  }
  if (!Reserve(user, first, counts)) {
    Erase(header.user_id);
    return nullptr;
  }
  user->num_context = static_cast<int32_t>(header.num_context);
  auto waiting = header.waiting.begin();
  auto open = header.open.begin();
  for (size_t i = 0; i < first.size(); ++i) {
    UserStage& stage = user->stages[i];
    stage.first = first[i];
    waiting = CopyTo(waiting, user->Waiting(pool_.layout(), i));
    if (!header.open.empty()) open = CopyTo(open, user->Open(pool_.layout(), i));
  }
  Append(user, {first[0], header.tokens, 0}, first[0], counts);
  user->saved->version = header.version;
  user->saved->stages = header.stages;
  user->saved->parts = header.parts;
  return user;
}

// Makes room for the user to hold [first, counts) of each stage, and pins it.
bool KvCache::Reserve(UserState* user, const StagePositions& first, const StagePositions& counts) {
  std::vector<int64_t> pages(counts.size() * shape().ranks);
  const auto count = [&](size_t stage, int64_t from, int64_t number, int64_t step) {
    const int64_t index = from / PageTokens();
    for (int64_t i = index; i < index + number; ++i) {
      pages[stage * shape().ranks + OwnerOf(i)] += step;
    }
  };
  for (size_t i = 0; i < counts.size(); ++i) {
    const UserStage& known = user->stages[i];
    count(i, first[i], PagesFor(first[i], counts[i], PageTokens()), 1);
    count(i, known.first, static_cast<int64_t>(known.table.size()), -1);
  }
  ++user->pins;  // no victim of its own growth
  if (EvictUntil([&] { return IsFree(pages); })) return true;
  --user->pins;
  return false;
}

// Evicts the users that were not used for longest until enough() is true.
template <typename Enough>
bool KvCache::EvictUntil(const Enough& enough) {
  UserState* victim = oldest_;
  while (!enough() && victim != nullptr) {
    UserState* next = victim->newer;
    const bool is_read = victim->saved != nullptr && victim->saved->busy;
    if (victim->pins == 0 && !is_read) {
      if (watcher_ != nullptr) watcher_->WillEvict(*victim);
      Erase(victim->user_id);
      ++counters_.users_evicted;
    }
    victim = next;
  }
  return enough();
}

// Whether each stage has so many pages free, of each rank.
bool KvCache::IsFree(const std::vector<int64_t>& pages) const {
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pool_.free_pages(i / shape().ranks, i % shape().ranks) < pages[i]) return false;
  }
  return true;
}

// The page of an entry of the user's table is free again; the entry stays.
void KvCache::Give(size_t stage, const UserStage& user, size_t entry) {
  const int64_t index = user.first / PageTokens() + static_cast<int64_t>(entry);
  pool_.Give(stage, OwnerOf(index), user.table[entry]);
}

// Forgets the positions from `count` on.
void KvCache::CutTail(size_t stage, int64_t count, UserStage* user) {
  user->count = count;
  const int64_t pages = PagesFor(user->first, count, PageTokens());
  while (static_cast<int64_t>(user->table.size()) > pages) {
    Give(stage, *user, user->table.size() - 1);
    user->table.pop_back();
  }
}

// Forgets the positions before `first`.
void KvCache::CutFront(size_t stage, int64_t first, UserStage* user) {
  const auto table_pages = static_cast<int64_t>(user->table.size());
  int64_t gone = first / PageTokens() - user->first / PageTokens();
  gone = first == user->count ? table_pages : std::min(gone, table_pages);
  for (int64_t i = 0; i < gone; ++i) Give(stage, *user, i);
  user->first = first;
  user->table.erase(user->table.begin(), user->table.begin() + gone);
}

// Adds the tokens of `history` from position `from` on, and pages up to `counts`.
void KvCache::Append(UserState* user, const HistoryTokens& history, int64_t from,
                     const StagePositions& counts) {
  user->tokens.insert(user->tokens.end(), history.tokens.begin() + (from - history.begin),
                      history.tokens.end());
  for (size_t i = 0; i < counts.size(); ++i) {
    UserStage& stage = user->stages[i];
    stage.count = counts[i];
    const int64_t pages = PagesFor(stage.first, stage.count, PageTokens());
    while (static_cast<int64_t>(stage.table.size()) < pages) {
      const int64_t index = stage.first / PageTokens() + static_cast<int64_t>(stage.table.size());
      stage.table.push_back(pool_.Take(i, OwnerOf(index)));
    }
  }
}

void KvCache::ReleasePages(UserState* user) {
  for (size_t i = 0; i < user->stages.size(); ++i) {
    for (size_t j = 0; j < user->stages[i].table.size(); ++j) Give(i, user->stages[i], j);
    user->stages[i].table.clear();
  }
}

void KvCache::Forget(std::string_view user_id) {
  if (watcher_ != nullptr) watcher_->WillForget(*Find(user_id));
  Erase(user_id);
}

void KvCache::ForgetAll() {
  while (oldest_ != nullptr) {
    const std::string user_id = oldest_->user_id;  // the state goes with what it names
    Forget(user_id);
  }
}

void KvCache::Erase(std::string_view user_id) {
  const auto found = users_.find(user_id);
  if (found == users_.end()) return;
  ReleasePages(&found->user);
  Unlink(&found->user);
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
