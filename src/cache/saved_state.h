// A user's state as tiers keep it: a header that says what it is, and parts with K and V of runs of
// pages. Parts are written first; the header, which names them, makes them a state.
#ifndef HSTU_CACHE_SAVED_STATE_H_
#define HSTU_CACHE_SAVED_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hstu {

// A run of pages of one layer: the keys of all of them, then the values of all of them.
struct StatePart {
  int64_t layer = 0;
  int64_t first_page = 0;  // absolute: it begins with position first_page * page_tokens
  int64_t pages = 0;
  int64_t bytes = 0;
  uint64_t checksum = 0;
  uint64_t id = 0;  // unlike that of any other part of the user

  bool operator==(const StatePart&) const = default;
};

// Positions of one stage, in its own tokens.
struct SavedStage {
  int64_t first = 0;
  int64_t count = 0;

  bool operator==(const SavedStage&) const = default;
};

struct StateHeader {
  std::string identity;  // of the cache: a state of another one is none
  std::string user_id;
  uint64_t version = 0;  // unlike that of any other state of the user
  int64_t num_context = 0;
  std::vector<SavedStage> stages;
  std::vector<int64_t> tokens;  // of the first stage's positions
  std::vector<float> waiting;   // of all stages: rows that wait for the rest of their window
  std::vector<std::byte> open;  // of all stages: f32 pages that still fill up
  std::vector<StatePart> parts;

  int64_t PartBytes() const;
  bool operator==(const StateHeader&) const = default;
};

std::string SerializeHeader(const StateHeader& header);

// Nothing for bytes that SerializeHeader didn't write: torn, flipped, of another format.
std::optional<StateHeader> ParseHeader(std::string_view bytes);

// What the tiers hold of a user who is in the pool.
struct SavedState {
  std::atomic<bool> busy = false;  // a save reads the user's pages, and writes what follows
  uint64_t version = 0;            // 0: nothing
  std::vector<SavedStage> stages;
  std::vector<StatePart> parts;
  // The user's stream is another one by now: the state is to be erased before the answer.
  bool stale = false;
};

// Bytes of a part, and what keeps them in memory.
struct PartBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Memory for `size` bytes, to be filled.
struct PartBuffer {
  explicit PartBuffer(int64_t size);
  PartBytes Share() const;

  std::shared_ptr<std::byte[]> data;
  int64_t size;
};

// A number that nothing else has, for versions and ids.
uint64_t UniqueNumber();

}  // namespace hstu

#endif  // HSTU_CACHE_SAVED_STATE_H_
