// What the cache knows of one user.
#ifndef HSTU_CACHE_USER_STATE_H_
#define HSTU_CACHE_USER_STATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fixed_array.h"
#include "cache/kv_layout.h"
#include "cache/saved_state.h"
#include "kernels/stages.h"

namespace hstu {

// What is kept of a user in one stage. Positions are the stage's own; they count from the start of
// the user's stream, evicted tokens included. K and V of the positions [first, count), in all
// layers of the stage, lie in the pages of `table`, which holds those from first / page_tokens on;
// the first page may begin in its middle.
struct UserStage {
  int64_t first = 0;  // the oldest position kept
  int64_t count = 0;  // one past the newest
  std::vector<int32_t> table;
  // What the stage keeps beside pages: see UserState::Waiting and Open. Null where that is nothing.
  std::unique_ptr<std::byte[]> beside;

  int64_t kept() const { return count - first; }
};

// A user's state is what stands here down to `stages`, the K and V in the pages of each stage's
// table, the rows that wait and the open pages: with these, and nothing else, the stream goes on
// with the same bits. `first` and `count` of the stages are state too: after evictions they don't
// follow from those of the first stage (a window that was incomplete is kept until the next
// eviction).
//
// There may be millions: every field counts.
struct UserState {
  UserState(std::string id, std::size_t num_stages) : user_id(std::move(id)), stages(num_stages) {}

  const std::string user_id;
  int32_t num_context = 0;       // contextual tokens at the front of the stream
  int32_t pins = 0;              // steps that run on it: no victim of eviction
  std::vector<int64_t> tokens;   // rows of the first stage's tokens, in their tables
  FixedArray<UserStage> stages;  // one of each stage of the model

  std::shared_ptr<SavedState> saved;  // null: there are no tiers

  // Of the first stage.
  int64_t first() const { return stages[0].first; }
  int64_t count() const { return stages[0].count; }

  // Outputs of the stage before that wait for the rest of their window: WaitingInputs() rows of C
  // floats, the first at input count * stride. Has room for the most, window - 1 rows; the rest is
  // not initialised. Empty in the first stage.
  std::span<float> Waiting(const KvLayout& layout, std::size_t stage) const {
    const int64_t floats = WaitingFloats(layout.shape, stage);
    if (floats == 0) return {};
    return {reinterpret_cast<float*>(stages[stage].beside.get()), static_cast<std::size_t>(floats)};
  }
  // Where pages are int8: the page that still fills up, in f32 and in all layers of the stage (see
  // OpenPageBytes). It holds the positions from count / page_tokens * page_tokens on.
  std::span<std::byte> Open(const KvLayout& layout, std::size_t stage) const {
    const int64_t bytes = OpenBytes(layout, stage);
    if (bytes == 0) return {};
    const int64_t waiting = BesideBytes(layout, stage) - bytes;
    return {stages[stage].beside.get() + waiting, static_cast<std::size_t>(bytes)};
  }

  // Rows that wait in front of a stage after the first.
  int64_t WaitingInputs(size_t stage, const Aggregation& aggregation) const {
    const int64_t begin = stages[stage].count * aggregation.stride;
    return std::max<int64_t>(0, stages[stage - 1].count - begin);
  }

  // Neighbours by last use; the cache's list.
  UserState* newer = nullptr;
  UserState* older = nullptr;
};

}  // namespace hstu

#endif  // HSTU_CACHE_USER_STATE_H_
