#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

Error SystemError(const std::string& path, const char* action) {
  return MakeError(ErrorCode::kIo, "{}: {} failed: {}", path, action, std::strerror(errno));
}

std::size_t PageBytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: a named pipe is refused below instead of waiting for its writer.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return SystemError(path, "opening it");
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return SystemError(path, "reading its size");
  if (!S_ISREG(info.st_mode)) {
    return MakeError(ErrorCode::kIo, "{}: it is not a regular file, so it can't be mapped", path);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile(path, nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return SystemError(path, "mapping it");
  return MappedFile(path, static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(std::string path, const std::byte* data, std::size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      gaps_(std::move(other.gaps_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(gaps_, other.gaps_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  // What was given up may be somebody else's by now.
  std::size_t begin = 0;
  for (const Gap& gap : gaps_) {
    if (begin < gap.begin) ::munmap(const_cast<std::byte*>(data_) + begin, gap.begin - begin);
    begin = gap.end;
  }
  if (begin < size_) ::munmap(const_cast<std::byte*>(data_) + begin, size_ - begin);
}

void MappedFile::Unmap(std::span<const std::byte> range) {
  const std::size_t page = PageBytes();
  const auto offset = static_cast<std::size_t>(range.data() - data_);
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + range.size()) / page * page;
  if (begin >= end) return;
  ::munmap(const_cast<std::byte*>(data_) + begin, end - begin);
  const auto after =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& gap) { return gap.begin > begin; });
  gaps_.insert(after, {begin, end});
}

std::size_t MappedFile::mapped_bytes() const {
  const std::size_t page = PageBytes();
  std::size_t bytes = (size_ + page - 1) / page * page;
  for (const Gap& gap : gaps_) bytes -= gap.end - gap.begin;
  return bytes;
}

void MappedFile::AdviseRandom(std::span<const std::byte> range) const {
  if (range.empty()) return;
  const std::uintptr_t page = PageBytes();
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(range.data()) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(range.data() + range.size());
  // Advice only: results don't depend on it, so a failure is no error.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_RANDOM);
}

}  // namespace hstu
