// What the cache knows of one user.
#ifndef HSTU_CACHE_USER_STATE_H_
#define HSTU_CACHE_USER_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hstu {

// Positions count from the start of the user's stream, evicted tokens included. K and V of the
// positions [first, count) lie in the pages of `table`, which holds those from first / page_tokens
// on; the first page may begin in its middle.
struct UserState {
  std::string user_id;
  int64_t num_context = 0;      // contextual tokens at the front of the stream
  int64_t first = 0;            // the oldest position kept
  int64_t count = 0;            // one past the newest
  std::vector<int64_t> tokens;  // rows of the tokens [first, count), in their tables
  std::vector<int32_t> table;
  int pins = 0;  // steps that run on it: no victim of eviction

  int64_t kept() const { return count - first; }

  // Neighbours by last use; the cache's list.
  UserState* newer = nullptr;
  UserState* older = nullptr;
};

}  // namespace hstu

#endif  // HSTU_CACHE_USER_STATE_H_
