// Running another program: its output, its status, the memory that it takes.
#ifndef HSTU_BASE_PROCESS_H_
#define HSTU_BASE_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// A program that was started, without standard input, and whose output is read here.
class Process {
 public:
  enum class Output { kStandard, kStandardAndErrors };

  // `command`'s first word is looked up in PATH. Errors (kIo) name the program that can't be
  // started.
  static Result<Process> Start(const std::vector<std::string>& command, Output output);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();  // waits for its end

  pid_t pid() const { return pid_; }

  // Appends what it wrote to `text`, if it wrote within `milliseconds`; -1: however long that
  // takes. False at the output's end.
  bool Read(int milliseconds, std::string* text);

  // Its exit status, when it has ended; 128 + the signal that ended it.
  int Wait();

 private:
  Process(pid_t pid, int output) : pid_(pid), output_(output) {}

  pid_t pid_;   // 0: waited for, or moved from
  int output_;  // -1 with it
};

struct ProcessOutcome {
  int status = 0;      // of exit; 128 + the signal that ended it
  std::string output;  // standard output and standard error together
};

// Runs `command` to its end. Errors as of Process::Start.
Result<ProcessOutcome> RunProcess(const std::vector<std::string>& command);

// The most that a process had resident so far, in bytes; 0 of one that is gone.
std::int64_t PeakResidentBytes(pid_t pid);

}  // namespace hstu

#endif  // HSTU_BASE_PROCESS_H_
