// The ranks that mpirun started. MPI lies in a module of its own that is loaded when ranks are
// asked for: a process that needs none neither links nor initialises it.
#ifndef HSTU_RANKS_MPI_H_
#define HSTU_RANKS_MPI_H_

#include <memory>
#include <string>

#include "hstu/hstu.hpp"
#include "ranks/communicator.h"

namespace hstu {

// What mpirun says of this process, without MPI: one rank, number 0, where it didn't start it.
int MpiSize();
int MpiRank();

// Initialises MPI; once a process. While it lives, ranks watch each other: one that gives no sign
// of life for kMpiLostSeconds, dead or stopped, ends all with a message that names it. Errors (kIo)
// say what the module lacks.
Result<std::unique_ptr<Communicator>> OpenMpi();

inline constexpr int kMpiLostSeconds = 5;

// What the module exports under kMpiModuleFunction: null, and `error`, where MPI fails.
using MpiModuleFunction = Communicator*(std::string* error);
inline constexpr const char* kMpiModuleFunction = "hstuMpiCommunicator";

}  // namespace hstu

#endif  // HSTU_RANKS_MPI_H_
