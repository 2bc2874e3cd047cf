// What an accepted build measured, for the next one to be held against.
#ifndef HSTU_ACCEPT_BASELINE_H_
#define HSTU_ACCEPT_BASELINE_H_

#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

struct Baseline {
  double steady_step_ratio = 1.0;  // time of a compiled step, of a built-in step in the same run
};

// Errors (kIo, kBadData) name the file and the key.
Result<Baseline> ReadBaseline(const std::string& path);
Status WriteBaseline(const Baseline& baseline, const std::string& path);

}  // namespace hstu

#endif  // HSTU_ACCEPT_BASELINE_H_
