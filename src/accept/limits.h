// The limits of an acceptance, and the file that changes them.
#ifndef HSTU_ACCEPT_LIMITS_H_
#define HSTU_ACCEPT_LIMITS_H_

#include <optional>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// Nothing: the metric is reported and breaks nothing.
struct Limits {
  std::optional<double> cold_start = 0.5;         // seconds
  std::optional<double> steady_step = 1.2;        // of the baseline
  std::optional<double> peak_memory = 0.9;        // of the budget
  std::optional<double> artifact_hits = 0.95;     // of the steps, more than
  std::optional<double> consistency;              // of logits, see DefaultLimits
  std::optional<double> eviction;                 // the same
  std::optional<double> fallback_kernels = 0.05;  // of all kernels
  std::optional<double> bucket_switch = 1.3;      // of the bucket's own median
  std::optional<double> memory_budget;            // bytes
};

// What holds without a file; `f32`: activations, and K and V, are.
Limits DefaultLimits(bool f32);

// `path`: a JSON object of metrics' names and numbers, or null for a metric that is only reported.
// Errors (kIo, kBadData) name the file and the key.
Status ReadLimits(const std::string& path, Limits* limits);

}  // namespace hstu

#endif  // HSTU_ACCEPT_LIMITS_H_
