// What the tests of evaluation and simulation share: the answers of a model that isn't there.
#ifndef HSTU_DATA_TESTING_H_
#define HSTU_DATA_TESTING_H_

#include <cstdint>

#include "hstu/hstu.hpp"

namespace hstu {

// Every task's logit of a candidate is its id plus `offset`.
inline Answer FakeAnswer(const Request& request, std::int64_t num_tasks, float offset = 0.0f) {
  Answer answer;
  answer.num_tasks = num_tasks;
  for (std::int64_t item : request.candidates) {
    answer.logits.insert(answer.logits.end(), static_cast<std::size_t>(num_tasks),
                         static_cast<float>(item) + offset);
  }
  return answer;
}

}  // namespace hstu

#endif  // HSTU_DATA_TESTING_H_
