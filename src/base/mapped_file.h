// A file mapped for reading: nothing is read before it is touched.
#ifndef HSTU_BASE_MAPPED_FILE_H_
#define HSTU_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

class MappedFile {
 public:
  // Maps a regular file; an empty one has no bytes. Errors (kIo) name the file and the cause.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // No read-ahead for the pages of `range`, a part of bytes(): only what is touched gets resident.
  void AdviseRandom(std::span<const std::byte> range) const;

  // Gives up the whole pages of `range`, a part of bytes() that must not be touched from then on:
  // neither memory nor addresses are taken by it.
  void Unmap(std::span<const std::byte> range);

  // Bytes that are mapped, in whole pages.
  std::size_t mapped_bytes() const;

 private:
  struct Gap {
    std::size_t begin;
    std::size_t end;
  };

  MappedFile(std::string path, const std::byte* data, std::size_t size);

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Gap> gaps_;  // given up, in ascending order
};

}  // namespace hstu

#endif  // HSTU_BASE_MAPPED_FILE_H_
