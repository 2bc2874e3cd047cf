#include "accept/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace hstu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookEveryMs = 2;

// What the process had resident at most so far; 0 when it is gone. (What wait4 tells counts its
// parent's memory too, which it shares until it starts its program.)
int64_t PeakBytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

// Reads its standard output to the end, and looks at its memory meanwhile.
void Watch(pid_t pid, int fd, Clock::time_point begin, ChildRun* run) {
  std::array<char, 65536> buffer{};
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, kLookEveryMs);
    run->peak_bytes = std::max(run->peak_bytes, PeakBytes(pid));
    if (ready <= 0) continue;
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    const std::string_view text(buffer.data(), static_cast<size_t>(size));
    if (run->first_line_seconds == 0.0 && text.find('\n') != std::string_view::npos) {
      run->first_line_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
}

}  // namespace

Result<ChildRun> RunChild(const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return MakeError(ErrorCode::kIo, "pipe: {}", std::strerror(errno));
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  const Clock::time_point begin = Clock::now();
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (failed != 0) {
    close(pipe_ends[0]);
    return MakeError(ErrorCode::kIo, "{}: {}", arguments[0], std::strerror(failed));
  }
  ChildRun run;
  Watch(pid, pipe_ends[0], begin, &run);
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return run;
}

}  // namespace hstu
