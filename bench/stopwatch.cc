#include "bench/stopwatch.h"

#include <ctime>

namespace hstu {
namespace {

double Seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

Stopwatch::Stopwatch(int threads)
    : wall_(Seconds(CLOCK_MONOTONIC)),
      processor_(Seconds(CLOCK_PROCESS_CPUTIME_ID)),
      threads_(threads) {}

Elapsed Stopwatch::Read() const {
  return {Seconds(CLOCK_MONOTONIC) - wall_,
          (Seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_) / threads_};
}

Rate Stopwatch::RateOf(double amount) const {
  const Elapsed elapsed = Read();
  return {amount / elapsed.wall, amount / elapsed.processor};
}

}  // namespace hstu
