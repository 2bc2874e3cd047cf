// Ranks that are threads of this process: for tests of what ranks compute.
#ifndef HSTU_RANKS_THREAD_COMMUNICATOR_H_
#define HSTU_RANKS_THREAD_COMMUNICATOR_H_

#include <memory>
#include <vector>

#include "ranks/communicator.h"

namespace hstu {

// One for each of `size` threads, in the order of ranks.
std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(int size);

}  // namespace hstu

#endif  // HSTU_RANKS_THREAD_COMMUNICATOR_H_
