#include "ranks/mpi.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.h"

namespace hstu {
namespace {

// Found beside the binary or the library, by their run path.
constexpr const char* kModule = "libhstu_mpi.so";

int NumberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

}  // namespace

int MpiSize() { return NumberFrom("OMPI_COMM_WORLD_SIZE", 1); }
int MpiRank() { return NumberFrom("OMPI_COMM_WORLD_RANK", 0); }

Result<std::unique_ptr<Communicator>> OpenMpi() {
  // Open MPI's own plugins look for its symbols among the global ones.
  void* module = dlopen(kModule, RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    return MakeError(ErrorCode::kIo, "ranks need {} beside the program, and Open MPI: {}", kModule,
                     dlerror());
  }
  auto* make = reinterpret_cast<MpiModuleFunction*>(dlsym(module, kMpiModuleFunction));
  if (make == nullptr) {
    return MakeError(ErrorCode::kIo, "{} is not of this version: {}", kModule, dlerror());
  }
  std::string error;
  std::unique_ptr<Communicator> world(make(&error));
  if (world == nullptr) return MakeError(ErrorCode::kIo, "{}", error);
  return world;
}

}  // namespace hstu
