// A file that is only in memory, for readers that take a path.
#ifndef HSTU_TESTS_FUZZ_MEMORY_FILE_H_
#define HSTU_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace hstu {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    while (!content.empty()) {
      ssize_t written = write(fd_, content.data(), content.size());
      if (written <= 0) std::abort();
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace hstu

#endif  // HSTU_TESTS_FUZZ_MEMORY_FILE_H_
