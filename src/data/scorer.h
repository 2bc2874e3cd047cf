// What evaluation and simulation ask: an engine, or a test's stand-in.
#ifndef HSTU_DATA_SCORER_H_
#define HSTU_DATA_SCORER_H_

#include <functional>
#include <span>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// Answers in the order of the requests.
using Scorer = std::function<std::vector<Answer>(std::span<const Request>)>;

}  // namespace hstu

#endif  // HSTU_DATA_SCORER_H_
