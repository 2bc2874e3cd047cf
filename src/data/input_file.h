// Reads a file from front to back, decompressing gzip and zstd on the way.
#ifndef HSTU_DATA_INPUT_FILE_H_
#define HSTU_DATA_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

class InputFile {
 public:
  // Compression is told by the file's first bytes, whatever its name is.
  static Result<InputFile> Open(const std::string& path);

  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;
  ~InputFile();

  // Reads up to `size` bytes of content; 0 only at the end. A compressed file that is cut or
  // damaged is an error.
  Result<std::size_t> Read(char* to, std::size_t size);

  const std::string& path() const;
  std::int64_t bytes_on_disk() const;   // 0 for a pipe
  std::int64_t bytes_consumed() const;  // of those on disk

  struct Impl;

 private:
  explicit InputFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hstu

#endif  // HSTU_DATA_INPUT_FILE_H_
