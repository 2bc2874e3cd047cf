#include "data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hstu {
namespace {

constexpr std::size_t kChunkBytes = 256 << 10;

// The bytes on disk, with a chunk of them at hand.
class Source {
 public:
  Source(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~Source() { close(fd_); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Makes at least one byte available, unless the file ends.
  Status Fill() {
    if (available() > 0) return {};
    chunk_.resize(kChunkBytes);
    HSTU_ASSIGN_OR_RETURN(end_, ReadFile(chunk_.data(), chunk_.size()));
    begin_ = 0;
    return {};
  }

  Result<std::size_t> ReadFile(char* to, std::size_t size) {
    ssize_t got;
    do {
      got = read(fd_, to, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      return MakeError(ErrorCode::kIo, "{} can't be read: {}", path_, std::strerror(errno));
    }
    consumed_ += got;
    return static_cast<std::size_t>(got);
  }

  const char* data() const { return chunk_.data() + begin_; }
  std::size_t available() const { return end_ - begin_; }
  void Skip(std::size_t bytes) { begin_ += bytes; }
  const std::string& path() const { return path_; }
  std::int64_t consumed() const { return consumed_; }

 private:
  std::string path_;
  int fd_;
  std::vector<char> chunk_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t consumed_ = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Result<std::size_t> Read(Source& source, char* to, std::size_t size) = 0;
};

class PlainDecoder : public Decoder {
 public:
  Result<std::size_t> Read(Source& source, char* to, std::size_t size) override {
    if (source.available() == 0) return source.ReadFile(to, size);
    std::size_t taken = std::min(size, source.available());
    std::memcpy(to, source.data(), taken);
    source.Skip(taken);
    return taken;
  }
};

Error Damaged(const Source& source, const char* format, const char* why) {
  return MakeError(ErrorCode::kBadData,
                   "{} is damaged {} ({}) after {} bytes; fetch or compress it again",
                   source.path(), format, why, source.consumed());
}

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() { inflateInit2(&stream_, 15 + 16); }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Result<std::size_t> Read(Source& source, char* to, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1 << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      HSTU_RETURN_IF_ERROR(source.Fill());
      if (source.available() == 0) {
        if (inside_) return Damaged(source, "gzip", "it ends early");
        break;
      }
      HSTU_RETURN_IF_ERROR(Step(source));
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }

 private:
  Status Step(Source& source) {
    inside_ = true;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(source.data()));
    stream_.avail_in = static_cast<uInt>(source.available());
    int code = inflate(&stream_, Z_NO_FLUSH);
    source.Skip(source.available() - stream_.avail_in);
    if (code == Z_STREAM_END) {  // another member may follow
      inside_ = false;
      inflateReset(&stream_);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return Damaged(source, "gzip", stream_.msg == nullptr ? "bad bytes" : stream_.msg);
    }
    return {};
  }

  z_stream stream_ = {};
  bool inside_ = true;  // in a member that has not ended
};

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {}
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

  Result<std::size_t> Read(Source& source, char* to, std::size_t size) override {
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos == 0) {
      HSTU_RETURN_IF_ERROR(source.Fill());
      // Without input left the decoder may still hold output of what it took.
      bool ended = source.available() == 0;
      if (ended && !inside_) break;
      ZSTD_inBuffer in = {source.data(), source.available(), 0};
      std::size_t code = ZSTD_decompressStream(context_, &out, &in);
      if (ZSTD_isError(code)) return Damaged(source, "zstd", ZSTD_getErrorName(code));
      source.Skip(in.pos);
      inside_ = code != 0;
      if (ended && inside_ && out.pos == 0) return Damaged(source, "zstd", "it ends early");
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* context_;
  bool inside_ = true;  // in a frame that has not ended
};

std::unique_ptr<Decoder> DecoderFor(const Source& source) {
  auto starts = [&](std::string_view magic) {
    return std::string_view(source.data(), source.available()).substr(0, magic.size()) == magic;
  };
  if (starts("\x1f\x8b")) return std::make_unique<GzipDecoder>();
  if (starts("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdDecoder>();
  return std::make_unique<PlainDecoder>();
}

}  // namespace

struct InputFile::Impl {
  Impl(std::string path, int fd) : source(std::move(path), fd) {}

  Source source;
  std::unique_ptr<Decoder> decoder;
  std::int64_t bytes_on_disk = 0;
};

Result<InputFile> InputFile::Open(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return MakeError(ErrorCode::kIo, "{} can't be opened: {}", path, std::strerror(errno));
  }
  auto impl = std::make_unique<Impl>(path, fd);
  struct stat info;
  if (fstat(fd, &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return MakeError(ErrorCode::kIo, "{} is a folder, a file is needed", path);
    }
    impl->bytes_on_disk = info.st_size;
  }
  HSTU_RETURN_IF_ERROR(impl->source.Fill());
  impl->decoder = DecoderFor(impl->source);
  return InputFile(std::move(impl));
}

InputFile::InputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;
InputFile::~InputFile() = default;

Result<std::size_t> InputFile::Read(char* to, std::size_t size) {
  return impl_->decoder->Read(impl_->source, to, size);
}

const std::string& InputFile::path() const { return impl_->source.path(); }
std::int64_t InputFile::bytes_on_disk() const { return impl_->bytes_on_disk; }
std::int64_t InputFile::bytes_consumed() const { return impl_->source.consumed(); }

}  // namespace hstu
