// Operators from shared objects: include/hstu/operator.h.
#ifndef HSTU_KERNELS_OPERATOR_LIBRARY_H_
#define HSTU_KERNELS_OPERATOR_LIBRARY_H_

#include <string>
#include <string_view>

#include "hstu/hstu.hpp"
#include "kernels/registry.h"

namespace hstu {

// `given`, or the environment's HSTU_OPERATOR_PATH where it is empty.
std::string OperatorPath(std::string_view given);

// Loads every *.so in the folders of `path`, which are joined by ':', in the order of their names,
// and adds their operators, each with one variant, kLibraryVariant. Libraries stay loaded. Errors
// name the folder or file: one that can't be read or loaded (kIo), one that is no operator library
// or of another version, and one that offers a name which is taken (kBadArgument), with both files.
Status LoadOperatorLibraries(std::string_view path, OperatorRegistry* registry);

// The built-in operators and those of the libraries in OperatorPath(given).
Result<OperatorRegistry> AllOperators(std::string_view given);

}  // namespace hstu

#endif  // HSTU_KERNELS_OPERATOR_LIBRARY_H_
