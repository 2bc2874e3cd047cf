#include "base/scratch_list.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

Result<ScratchFile> ScratchFile::Create() {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  std::string name = (folder / ".hstu-scratch-XXXXXX").string();
  ScratchFile file(folder.string(), mkostemp(name.data(), O_CLOEXEC));
  if (file.fd_ < 0) return file.SystemError("made");
  unlink(name.c_str());
  return file;
}

ScratchFile::ScratchFile(std::string folder, int fd) : folder_(std::move(folder)), fd_(fd) {}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      fd_(std::exchange(other.fd_, -1)),
      flushed_(other.flushed_),
      buffer_(std::move(other.buffer_)),
      mapped_(std::exchange(other.mapped_, {})) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(fd_, other.fd_);
  std::swap(flushed_, other.flushed_);
  std::swap(buffer_, other.buffer_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

ScratchFile::~ScratchFile() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
  if (fd_ >= 0) close(fd_);
}

Error ScratchFile::SystemError(const char* action) const {
  return MakeError(ErrorCode::kIo,
                   "a temporary file in {} can't be {}: {}; TMPDIR chooses another folder", folder_,
                   action, std::strerror(errno));
}

Status ScratchFile::Append(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() < kBufferBytes ? Status() : Flush();
}

Status ScratchFile::Flush() {
  std::span<const std::byte> left = buffer_;
  while (!left.empty()) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("written");
    left = left.subspan(static_cast<std::size_t>(written));
  }
  flushed_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<std::span<std::byte>> ScratchFile::Map() {
  HSTU_RETURN_IF_ERROR(Flush());
  buffer_ = {};
  if (flushed_ == 0) return std::span<std::byte>();
  void* data = mmap(nullptr, flushed_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) return SystemError("mapped");
  mapped_ = {static_cast<std::byte*>(data), flushed_};
  return mapped_;
}

}  // namespace hstu
