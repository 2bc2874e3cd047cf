// The KV cache: users' states in a pool of pages, the least recently used evicted first.
//
// Not thread-safe: the engine holds a lock.
#ifndef HSTU_CACHE_KV_CACHE_H_
#define HSTU_CACHE_KV_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

class KvCache {
 public:
  // `max_history_tokens`: the most that is kept of one user.
  KvCache(PagePool pool, int64_t max_history_tokens);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) = delete;

  const PagePool& pool() const { return pool_; }
  const KvCacheCounters& counters() const { return counters_; }
  int64_t num_users() const { return static_cast<int64_t>(users_.size()); }

  // Null where nothing is known of the user.
  const UserState* Find(std::string_view user_id) const;

  // The first position of `history` that has to be computed: all kept tokens before it are the
  // same. Evicted positions count as the same; nothing where the first that differs is not after
  // them (there is nothing left to go on from).
  static std::optional<int64_t> FirstDifference(const UserState& user,
                                                const HistoryTokens& history);

  // Takes the user (a new one, if need be) to `history`: forgets what differs, evicts the oldest
  // units where it gets too long, and takes pages for the rest, from others if need be. Null, and
  // nothing is changed but that others may have been evicted, if there are not enough pages: then
  // let steps that pin users end. `resume` is the position to compute from, as FirstDifference
  // gives it, or 0 to start afresh. Pins the user.
  UserState* Extend(const std::string& user_id, const HistoryTokens& history, int64_t resume);

  // A fresh user whose first `skip` tokens are dropped unseen.
  UserState* Restart(const std::string& user_id, const HistoryTokens& history, int64_t skip);

  static void Unpin(UserState* user) { --user->pins; }

  // Forgets a user, who must not be pinned.
  void Erase(std::string_view user_id);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  int64_t PageTokens() const { return pool_.layout().page.page_tokens; }
  UserState* FindOrAdd(const std::string& user_id);
  bool MakeFree(int64_t pages);
  void CutTail(UserState* user, int64_t count);
  void CutFront(UserState* user, int64_t tokens);
  void Append(UserState* user, const HistoryTokens& history, int64_t from);
  void ReleasePages(UserState* user);
  void Touch(UserState* user);
  void Unlink(UserState* user);

  PagePool pool_;
  int64_t max_history_tokens_;
  std::unordered_map<std::string, std::unique_ptr<UserState>, Hash, std::equal_to<>> users_;
  UserState* newest_ = nullptr;
  UserState* oldest_ = nullptr;
  KvCacheCounters counters_;
};

}  // namespace hstu

#endif  // HSTU_CACHE_KV_CACHE_H_
