// A list of plain values that grows in a file without a name and is then mapped, so that it may be
// larger than memory.
#ifndef HSTU_BASE_SCRATCH_LIST_H_
#define HSTU_BASE_SCRATCH_LIST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// The file: in the folder for temporary files (TMPDIR, or else /tmp), gone when the process ends,
// however that happens. Errors (kIo) name the folder.
class ScratchFile {
 public:
  static Result<ScratchFile> Create();

  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&& other) noexcept;
  ~ScratchFile();

  Status Append(std::span<const std::byte> bytes);

  // All that was appended, to be read and changed. Nothing may be appended after it.
  Result<std::span<std::byte>> Map();

 private:
  ScratchFile(std::string folder, int fd);
  Status Flush();
  Error SystemError(const char* action) const;

  std::string folder_;
  int fd_;
  std::size_t flushed_ = 0;
  std::vector<std::byte> buffer_;
  std::span<std::byte> mapped_;
};

template <typename Value>
class ScratchList {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  static Result<ScratchList> Create() {
    Result<ScratchFile> file = ScratchFile::Create();
    if (!file.ok()) return file.error();
    return ScratchList(std::move(file).value());
  }

  Status Append(std::span<const Value> values) {
    size_ += static_cast<std::int64_t>(values.size());
    return file_.Append(std::as_bytes(values));
  }
  Status Append(const Value& value) { return Append(std::span<const Value>(&value, 1)); }

  std::int64_t size() const { return size_; }

  // Ends the appending; then values() has all.
  Status Map() {
    Result<std::span<std::byte>> bytes = file_.Map();
    if (!bytes.ok()) return bytes.error();
    values_ = {reinterpret_cast<Value*>(bytes->data()), static_cast<std::size_t>(size_)};
    return {};
  }
  std::span<Value> values() const { return values_; }

 private:
  explicit ScratchList(ScratchFile file) : file_(std::move(file)) {}

  ScratchFile file_;
  std::int64_t size_ = 0;
  std::span<Value> values_;
};

}  // namespace hstu

#endif  // HSTU_BASE_SCRATCH_LIST_H_
