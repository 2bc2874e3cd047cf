// What is written into the pool and read of it, as JSON Lines, and a check that no two meet.
#ifndef HSTU_CACHE_CACHE_LOG_H_
#define HSTU_CACHE_CACHE_LOG_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "hstu/hstu.hpp"

namespace hstu {

enum class CacheOperation {
  kWrite,   // K and V that a step computed
  kArrive,  // K and V that came back from a tier
  kRead,    // K and V of earlier steps that attention may read
};

// Positions [position, position + count) of a user in one layer. `table`: the pages of the
// positions from page first_page on.
struct CacheAccess {
  CacheOperation operation;
  int64_t layer;
  std::string_view user_id;
  int64_t position;
  int64_t count;
  std::span<const int32_t> table;
  int64_t first_page;
};

// Safe to call from many threads; a line a page.
class CacheLog {
 public:
  static Result<std::unique_ptr<CacheLog>> Open(const std::string& path, int64_t page_tokens);

  // What follows is of the next step; what came before is in the file.
  void BeginStep();
  void Add(const CacheAccess& access);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  CacheLog(std::FILE* file, int64_t page_tokens) : file_(file), page_tokens_(page_tokens) {}

  std::mutex mutex_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  const int64_t page_tokens_;
  int64_t step_ = 0;
};

struct CacheLogReport {
  int64_t steps = 0;
  int64_t lines = 0;
  int64_t tokens_written = 0;  // of all layers together
  int64_t tokens_arrived = 0;
  int64_t tokens_read = 0;
  int64_t overlaps = 0;  // a slot written twice in a step
  int64_t gaps = 0;      // a slot read that doesn't hold the user's position, or left out between
  int64_t meetings = 0;  // a slot written after the same step read it, or read and written anew
  std::string first_fault;  // with its line

  bool ok() const { return overlaps + gaps + meetings == 0; }
};

// Errors (kBadData, kIo) name file and line.
Result<CacheLogReport> CheckCacheLog(const std::string& path);

}  // namespace hstu

#endif  // HSTU_CACHE_CACHE_LOG_H_
