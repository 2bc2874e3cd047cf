// A file that appears whole or not at all: it is written aside, flushed to the disk and renamed.
#ifndef HSTU_BASE_ATOMIC_FILE_H_
#define HSTU_BASE_ATOMIC_FILE_H_

#include <string>
#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

class AtomicFile {
 public:
  // Opens a file beside `path`, in the same folder, which must exist.
  static Result<AtomicFile> Create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();  // takes away what was not committed

  // Appends; unbuffered, so give it large pieces.
  Status Write(std::string_view bytes);

  // Puts the file in its place, over one that is there. Nothing may be written after it.
  Status Commit();

  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, std::string aside, int fd);
  void Discard();

  std::string path_;
  std::string aside_;
  int fd_ = -1;  // -1: committed or moved from
};

// All of a file at once.
Status WriteWholeFile(const std::string& path, std::string_view bytes);

}  // namespace hstu

#endif  // HSTU_BASE_ATOMIC_FILE_H_
