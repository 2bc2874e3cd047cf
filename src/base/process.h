// Running another program and reading what it writes.
#ifndef HSTU_BASE_PROCESS_H_
#define HSTU_BASE_PROCESS_H_

#include <string>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

struct ProcessOutcome {
  int status = 0;      // of exit; 128 + the signal that ended it
  std::string output;  // standard output and standard error together
};

// Runs `command`, whose first word is looked up in PATH, without standard input, until it ends.
// Errors (kIo) name the program that can't be started.
Result<ProcessOutcome> RunProcess(const std::vector<std::string>& command);

}  // namespace hstu

#endif  // HSTU_BASE_PROCESS_H_
