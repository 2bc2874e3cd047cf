// A line on stderr that tells how far a long command is; silent unless stderr is a terminal.
#ifndef HSTU_BASE_PROGRESS_H_
#define HSTU_BASE_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace hstu {

class Progress {
 public:
  // `total` 0: unknown, so that only what is done is shown. `unit` such as "MB" or "users".
  Progress(std::string label, std::int64_t total, std::string unit);
  ~Progress();  // wipes the line

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows `done` of the total, ten times a second at most.
  void Update(std::int64_t done);

 private:
  std::string label_;
  std::int64_t total_;
  std::string unit_;
  bool shown_;  // stderr is a terminal
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace hstu

#endif  // HSTU_BASE_PROGRESS_H_
