// What a step that several ranks compute needs of the others.
#ifndef HSTU_ENGINE_FORWARD_RANKS_H_
#define HSTU_ENGINE_FORWARD_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "engine/gathered_rows.h"
#include "engine/rank_groups.h"
#include "kernels/kv_blocks.h"
#include "model/model.h"
#include "ranks/exchange.h"

namespace hstu {

// A part that is combined while the next is computed.
struct ExchangedPart {
  std::vector<float> own;      // this rank's
  std::vector<float> all;      // all ranks', side by side
  std::vector<int64_t> sizes;  // in bytes, by rank
  int64_t ticket = 0;
};

// Ranks that share keys, each its own chunks of kKeyChunk positions.
struct SharedKeys {
  std::unique_ptr<Exchange> exchange;
  bool exact = false;  // every chunk's part is sent by itself
  ExchangedPart parts[2];
  std::vector<int64_t> places[2];           // of a part's blocks in each rank's floats
  std::vector<std::vector<float>> scratch;  // of each thread

  int64_t rank() const { return exchange->rank(); }
  int64_t ranks() const { return exchange->size(); }
  int64_t OwnerOf(int64_t chunk) const { return OwnerOfChunk(chunk, ranks()); }
  bool Owns(int64_t chunk) const { return OwnerOf(chunk) == rank(); }
};

// Ranks that share heads: each has a part of every row between two projections.
struct SharedHeads {
  std::unique_ptr<Exchange> exchange;
  std::vector<float> own_moments;  // [rows, 2]
  std::vector<float> all_moments;  // [ranks, rows, 2]
  std::vector<float> moments;      // [rows, 2], of whole rows
  ExchangedPart parts[2];          // of sums of output projections
};

struct ForwardRanks {
  std::unique_ptr<GatheredRows> rows;  // null: all tables are whole
  std::unique_ptr<SharedKeys> keys;    // null: each rank has all keys
  std::unique_ptr<SharedHeads> heads;  // null: each rank has all heads
};

// Lists of a trace that exchanges need behind those of the threads.
inline constexpr int kExchangeLanes = 3;

// Null where nothing is shared. `trace` may be null; `lane`: the first of the exchanges, behind
// those of as many threads.
std::unique_ptr<ForwardRanks> MakeForwardRanks(const Model& model, const EngineOptions& options,
                                               RankGroups groups, Trace* trace, int lane);

// Calls, bytes and time by layer of every exchange.
std::string FormatExchanges(const ForwardRanks& ranks);

}  // namespace hstu

#endif  // HSTU_ENGINE_FORWARD_RANKS_H_
