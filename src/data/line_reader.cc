#include "data/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;

}  // namespace

Result<LineReader> LineReader::Open(const std::string& path, std::size_t max_line_bytes) {
  if (path == "-") return LineReader("standard input", STDIN_FILENO, max_line_bytes);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return MakeError(ErrorCode::kIo, "{}: opening it failed: {}", path, std::strerror(errno));
  }
  LineReader reader(path, fd, max_line_bytes);
  HSTU_RETURN_IF_ERROR(reader.Fill());  // a directory opens, but can't be read
  return reader;
}

LineReader::LineReader(std::string path, int fd, std::size_t max_line_bytes)
    : path_(std::move(path)), fd_(fd), max_line_bytes_(max_line_bytes) {}

LineReader::LineReader(LineReader&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      max_line_bytes_(other.max_line_bytes_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      number_(other.number_),
      at_end_(other.at_end_) {}

LineReader::~LineReader() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

Status LineReader::Fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kReadBytes);
  ssize_t got;
  do {
    got = ::read(fd_, buffer_.data() + size, kReadBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(size + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) {
    return MakeError(ErrorCode::kIo, "{}: reading it failed: {}", path_, std::strerror(errno));
  }
  at_end_ = got == 0;
  return {};
}

Result<std::optional<LineReader::Line>> LineReader::Next() {
  ++number_;
  std::size_t searched = begin_;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != buffer_.npos) {
      const std::string_view text(buffer_.data() + begin_, end - begin_);
      begin_ = end + 1;
      return std::optional(Line{text.substr(0, max_line_bytes_ + 1), number_});
    }
    if (at_end_) {
      if (begin_ == buffer_.size()) return std::optional<Line>();
      const std::string_view text(buffer_.data() + begin_, buffer_.size() - begin_);
      begin_ = buffer_.size();
      return std::optional(Line{text.substr(0, max_line_bytes_ + 1), number_});
    }
    if (buffer_.size() - begin_ > max_line_bytes_) buffer_.resize(begin_ + max_line_bytes_ + 1);
    searched = buffer_.size() - begin_;
    HSTU_RETURN_IF_ERROR(Fill());
  }
}

}  // namespace hstu
