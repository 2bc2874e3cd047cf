#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

// The new name itself must survive a power cut, not only the bytes. Some file systems refuse to
// flush folders, which is no reason to call a complete file failed.
void FlushFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

}  // namespace

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  std::string aside = fmt::format("{}.partial-{}", path, getpid());
  int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    return MakeError(ErrorCode::kIo,
                     "{} can't be created: {}; give a folder that exists and may be written to",
                     aside, std::strerror(errno));
  }
  return AtomicFile(path, std::move(aside), fd);
}

AtomicFile::AtomicFile(std::string path, std::string aside, int fd)
    : path_(std::move(path)), aside_(std::move(aside)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::move(other.aside_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(aside_, other.aside_);
  std::swap(fd_, other.fd_);
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  unlink(aside_.c_str());
}

Status AtomicFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return MakeError(ErrorCode::kIo, "{} can't be written: {}; {} is left as it was", aside_,
                       std::strerror(errno), path_);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::Commit() {
  if (fsync(fd_) != 0 || rename(aside_.c_str(), path_.c_str()) != 0) {
    Error error =
        MakeError(ErrorCode::kIo, "{} can't be put in its place: {}", path_, std::strerror(errno));
    Discard();
    return error;
  }
  close(std::exchange(fd_, -1));
  FlushFolderOf(path_);
  return {};
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  HSTU_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  HSTU_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

}  // namespace hstu
