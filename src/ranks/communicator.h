// Ranks that compute together: processes that MPI started, or threads of one process.
#ifndef HSTU_RANKS_COMMUNICATOR_H_
#define HSTU_RANKS_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hstu {

// Every rank of the group makes the same calls in the same order, from one thread at a time; each
// returns when this rank's part is done. There are no errors to handle: where a rank is lost, the
// others' processes end (see mpi.h).
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `own` of every rank, side by side in the order of ranks, into `all`. sizes[i], the bytes of
  // rank i, are the same on all ranks and make less than 2^31 together.
  virtual void AllGather(const std::byte* own, std::span<const int64_t> sizes, std::byte* all) = 0;

  // The bytes of rank 0 to all.
  virtual void Broadcast(std::span<std::byte> bytes) = 0;

  // A group of those ranks that give the same color, in the order of ranks.
  virtual std::unique_ptr<Communicator> Split(int color) = 0;
};

}  // namespace hstu

#endif  // HSTU_RANKS_COMMUNICATOR_H_
