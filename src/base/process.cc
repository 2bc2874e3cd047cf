#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

Result<Process> Process::Start(const std::vector<std::string>& command, Output output) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) {
    return MakeError(ErrorCode::kIo, "{}: no pipe for its output: {}", command[0],
                     std::strerror(errno));
  }
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), pipe[1], STDOUT_FILENO);
  if (output == Output::kStandardAndErrors) {
    posix_spawn_file_actions_adddup2(actions.get(), pipe[1], STDERR_FILENO);
  }
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], actions.get(), nullptr, argv.data(), environ);
  ::close(pipe[1]);
  if (error == 0) return Process(pid, pipe[0]);
  ::close(pipe[0]);
  return MakeError(ErrorCode::kIo, "{}: it can't be started: {}", command[0], std::strerror(error));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::exchange(other.output_, -1)) {}

Process::~Process() {
  if (pid_ != 0) Wait();
}

bool Process::Read(int milliseconds, std::string* text) {
  pollfd waiting{output_, POLLIN, 0};
  if (::poll(&waiting, 1, milliseconds) <= 0) return true;
  char buffer[4096];
  const ssize_t count = ::read(output_, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

int Process::Wait() {
  ::close(std::exchange(output_, -1));
  const pid_t pid = std::exchange(pid_, 0);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<ProcessOutcome> RunProcess(const std::vector<std::string>& command) {
  HSTU_ASSIGN_OR_RETURN(Process process,
                        Process::Start(command, Process::Output::kStandardAndErrors));
  ProcessOutcome outcome;
  while (process.Read(-1, &outcome.output)) {
  }
  outcome.status = process.Wait();
  return outcome;
}

std::int64_t PeakResidentBytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace hstu
