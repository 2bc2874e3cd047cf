// Lines of a file or a pipe, as soon as they are complete, in bounded memory.
#ifndef HSTU_DATA_LINE_READER_H_
#define HSTU_DATA_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

class LineReader {
 public:
  struct Line {
    std::string_view text;    // without its end; valid until the next call
    std::int64_t number = 0;  // from 1
  };

  // "-" is standard input. Of lines longer than `max_line_bytes` one byte more is kept, so that the
  // caller sees that they are too long; the rest is skipped.
  static Result<LineReader> Open(const std::string& path, std::size_t max_line_bytes);

  LineReader(LineReader&& other) noexcept;
  LineReader& operator=(LineReader&&) = delete;
  ~LineReader();

  // Nothing at the end. A last line needs no end. Errors (kIo) name the file.
  Result<std::optional<Line>> Next();

 private:
  LineReader(std::string path, int fd, std::size_t max_line_bytes);
  Status Fill();

  std::string path_;
  int fd_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the bytes in buffer_ that were not returned yet
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace hstu

#endif  // HSTU_DATA_LINE_READER_H_
