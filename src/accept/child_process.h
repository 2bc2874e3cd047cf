// A program that is run and watched.
#ifndef HSTU_ACCEPT_CHILD_PROCESS_H_
#define HSTU_ACCEPT_CHILD_PROCESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

struct ChildRun {
  double first_line_seconds = 0.0;  // from its start to the first line on its standard output
  int64_t peak_bytes = 0;           // resident
  int status = 0;                   // its exit status; that of a signal is 128 and its number
};

// Runs `arguments`, the first of which is the program's path, to its end. Errors (kIo): it can't be
// started.
Result<ChildRun> RunChild(const std::vector<std::string>& arguments);

}  // namespace hstu

#endif  // HSTU_ACCEPT_CHILD_PROCESS_H_
