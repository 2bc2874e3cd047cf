// Users by their last use, each with the bytes that it takes of a bound.
#ifndef HSTU_CACHE_LRU_BYTES_H_
#define HSTU_CACHE_LRU_BYTES_H_

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

namespace hstu {

// Not thread-safe.
template <typename Entry>
class LruBytes {
 public:
  struct User {
    std::string user_id;
    int64_t bytes = 0;
    Entry entry;
  };

  // Null: unknown. Doesn't count as a use.
  User* Find(const std::string& user_id) {
    const auto found = places_.find(user_id);
    return found == places_.end() ? nullptr : &*found->second;
  }
  // Marks the user, a new one if need be, as used now.
  User* Touch(const std::string& user_id) {
    const auto found = places_.find(user_id);
    if (found == places_.end()) {
      users_.push_front(User{user_id, 0, Entry()});
      places_.emplace(user_id, users_.begin());
    } else {
      users_.splice(users_.begin(), users_, found->second);
    }
    return &users_.front();
  }
  void Charge(User* user, int64_t bytes) {
    user->bytes += bytes;
    bytes_ += bytes;
  }
  void Erase(const std::string& user_id) {
    const auto found = places_.find(user_id);
    if (found == places_.end()) return;
    bytes_ -= found->second->bytes;
    users_.erase(found->second);
    places_.erase(found);
  }
  // The one that was not used for longest and isn't `but`; null: none.
  const User* Oldest(const std::string& but) const {
    for (auto user = users_.rbegin(); user != users_.rend(); ++user) {
      if (user->user_id != but) return &*user;
    }
    return nullptr;
  }

  int64_t bytes() const { return bytes_; }
  int64_t users() const { return static_cast<int64_t>(users_.size()); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const User& user : users_) names.push_back(user.user_id);
    return names;
  }

 private:
  std::list<User> users_;  // the last used first
  std::unordered_map<std::string, typename std::list<User>::iterator> places_;
  int64_t bytes_ = 0;
};

}  // namespace hstu

#endif  // HSTU_CACHE_LRU_BYTES_H_
