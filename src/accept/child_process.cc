#include "accept/child_process.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/process.h"

namespace hstu {
namespace {

constexpr int kLookEveryMs = 2;

}  // namespace

// What wait4 tells of memory counts its parent's too, which a process shares until its program
// starts: so it is looked at while it runs.
Result<ChildRun> RunChild(const std::vector<std::string>& arguments) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  HSTU_ASSIGN_OR_RETURN(Process process, Process::Start(arguments, Process::Output::kStandard));
  ChildRun run;
  std::string text;
  while (process.Read(kLookEveryMs, &text)) {
    run.peak_bytes = std::max(run.peak_bytes, PeakResidentBytes(process.pid()));
    if (run.first_line_seconds == 0.0 && text.find('\n') != std::string::npos) {
      run.first_line_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    text.clear();
  }
  run.status = process.Wait();
  return run;
}

}  // namespace hstu
