#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace hstu {

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::Update(std::int64_t done) {
  if (!shown_) return;
  auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  if (total_ > 0) {
    fmt::print(stderr, "\r\033[K{}: {} of {} {} ({} %)", label_, done, total_, unit_,
               100 * done / total_);
  } else {
    fmt::print(stderr, "\r\033[K{}: {} {}", label_, done, unit_);
  }
  std::fflush(stderr);
}

}  // namespace hstu
