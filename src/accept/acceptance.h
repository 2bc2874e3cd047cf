// Decides whether artifacts may be deployed: runs them beside the built-in path, the eager
// interpreter and the reference of streams, and holds what it finds against limits.
#ifndef HSTU_ACCEPT_ACCEPTANCE_H_
#define HSTU_ACCEPT_ACCEPTANCE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accept/baseline.h"
#include "accept/limits.h"
#include "accept/report.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct AcceptanceOptions {
  std::string model;      // folder
  std::string artifacts;  // folder
  std::string requests;   // JSON Lines, what traffic looks like
  std::string binary;     // `hstu`, for starts of processes
  EngineOptions engine;   // but for artifacts, isa and types, which the artifacts decide
  std::string limits;     // a file; empty: what holds by default
  std::optional<Baseline> baseline;
};

struct Acceptance {
  AcceptanceReport report;
  Baseline measured;
};

// `requests`: those of the file. Errors: what can't be loaded or run at all; a broken limit is
// none.
Result<Acceptance> Accept(const AcceptanceOptions& options, std::span<const Request> requests);

}  // namespace hstu

#endif  // HSTU_ACCEPT_ACCEPTANCE_H_
