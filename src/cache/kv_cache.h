// The KV cache: users' states in a pool of pages, the least recently used evicted first. Pages are
// bounded, and users where they keep something beside them.
//
// Not thread-safe: the engine holds a lock.
#ifndef HSTU_CACHE_KV_CACHE_H_
#define HSTU_CACHE_KV_CACHE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cache/page_pool.h"
#include "cache/user_state.h"
#include "hstu/hstu.hpp"

namespace hstu {

// A history as a request gives it: tokens [begin, begin + tokens.size()) of the user's stream.
struct HistoryTokens {
  int64_t begin = 0;
  std::span<const int64_t> tokens;  // rows, contextual ones included where begin is 0
  int64_t num_context = 0;
};

struct KvCacheCounters {
  int64_t users_evicted = 0;   // whole users, by the least recent use
  int64_t tokens_evicted = 0;  // of users past max_history_tokens
};

// Told before users lose pages, by whoever else reads or keeps these.
class KvCacheWatcher {
 public:
  virtual ~KvCacheWatcher() = default;
  // The user goes, to make room for others. None of its pages is being read (SavedState::busy).
  virtual void WillEvict(const UserState& user) = 0;
  // Pages of the user are given up or written anew. `edited`: the stream becomes another one.
  virtual void WillCut(UserState* user, bool edited) = 0;
  // The user's stream can't be continued: nobody may know it any more.
  virtual void WillForget(const UserState& user) = 0;
};

class KvCache {
 public:
  explicit KvCache(PagePool pool);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) = delete;

  // Users who are added from now on have a SavedState.
  void SetWatcher(KvCacheWatcher* watcher) { watcher_ = watcher; }

  const PagePool& pool() const { return pool_; }
  const KvCacheCounters& counters() const { return counters_; }
  int64_t num_users() const { return static_cast<int64_t>(users_.size()); }

  // Null where nothing is known of the user.
  const UserState* Find(std::string_view user_id) const;

  // The first token of `history` that is not known: all kept tokens before it are the same. Evicted
  // positions count as the same; nothing where `history` ends before the oldest kept token.
  static std::optional<int64_t> FirstDifference(const UserState& user,
                                                const HistoryTokens& history);

  // Where each stage has to go on so that `history` replaces what is known from `difference` on (as
  // FirstDifference gives it). At the end of what is known that is where each stage is; before it,
  // where windows that reach over `difference` begin. Nothing where that needs evicted tokens, or
  // leaves more to compute than a user may keep.
  std::optional<StagePositions> ResumeAt(const UserState& user, const HistoryTokens& history,
                                         int64_t difference) const;

  // Takes a known user to `history`: forgets what comes from `resume` on (as ResumeAt gives it),
  // evicts the oldest units where it gets too long, and takes pages for the rest, from others if
  // need be. Null, and nothing is changed but that others may have been evicted, if there is not
  // enough room: then let steps that pin users end. Pins the user.
  UserState* Extend(const std::string& user_id, const HistoryTokens& history,
                    const StagePositions& resume);

  // A user, known or not, as a fresh one whose first `skip` tokens are dropped unseen. Null and
  // pins as in Extend.
  UserState* Restart(const std::string& user_id, const HistoryTokens& history, int64_t skip);

  // A user, unknown so far, as a tier has it, with pages that are still to be filled. Null where
  // there is no room as in Extend; else pins the user.
  UserState* Adopt(const StateHeader& header);

  static void Unpin(UserState* user) { --user->pins; }

  // Forgets a user, or all of them, who must not be pinned, everywhere.
  void Forget(std::string_view user_id);
  void ForgetAll();

  // The least recently used first.
  template <typename Body>
  void ForEach(const Body& body) const {
    for (const UserState* user = oldest_; user != nullptr; user = user->newer) body(*user);
  }

  // Forgets a user, who must not be pinned, without a word to the watcher.
  void Erase(std::string_view user_id);

 private:
  // An element of the index, found by its user's id.
  struct Entry {
    Entry(const std::string& user_id, size_t num_stages) : user(user_id, num_stages) {}
    mutable UserState user;
  };
  static std::string_view IdOf(std::string_view id) { return id; }
  static std::string_view IdOf(const Entry& entry) { return entry.user.user_id; }
  // noexcept: then elements don't keep their hashes.
  struct Hash {
    using is_transparent = void;
    template <typename T>
    size_t operator()(const T& entry_or_id) const noexcept {
      return std::hash<std::string_view>()(IdOf(entry_or_id));
    }
  };
  struct SameId {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const noexcept {
      return IdOf(a) == IdOf(b);
    }
  };

  int64_t PageTokens() const { return pool_.layout().page.page_tokens; }
  const KvModelShape& shape() const { return pool_.layout().shape; }
  // Which rank holds the page that is number `index` of a user's stream.
  int64_t OwnerOf(int64_t index) const { return shape().OwnerOfPosition(index * PageTokens()); }
  StagePositions ResumeWithin(const UserState& user, int64_t difference) const;
  UserState* FindOrAdd(const std::string& user_id);
  template <typename Enough>
  bool EvictUntil(const Enough& enough);
  bool IsFree(const std::vector<int64_t>& pages) const;
  bool Reserve(UserState* user, const StagePositions& first, const StagePositions& counts);
  void Give(size_t stage, const UserStage& user, size_t entry);
  void CutTail(size_t stage, int64_t count, UserStage* user);
  void CutFront(size_t stage, int64_t first, UserStage* user);
  void Append(UserState* user, const HistoryTokens& history, int64_t from,
              const StagePositions& counts);
  void ReleasePages(UserState* user);
  void Touch(UserState* user);
  void Unlink(UserState* user);

  PagePool pool_;
  KvCacheWatcher* watcher_ = nullptr;
  std::unordered_set<Entry, Hash, SameId> users_;
  UserState* newest_ = nullptr;
  UserState* oldest_ = nullptr;
  KvCacheCounters counters_;
};

}  // namespace hstu

#endif  // HSTU_CACHE_KV_CACHE_H_
