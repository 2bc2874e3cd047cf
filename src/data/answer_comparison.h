// Compares the answers of two runs over the same requests; the first one's lie in temporary files.
#ifndef HSTU_DATA_ANSWER_COMPARISON_H_
#define HSTU_DATA_ANSWER_COMPARISON_H_

#include <cstdint>

#include "base/scratch_list.h"
#include "data/simulate.h"
#include "hstu/hstu.hpp"

namespace hstu {

class AnswerComparison {
 public:
  static Result<AnswerComparison> Create();

  // The answers of the first run, in order; then End().
  Status Record(const Answer& answer);
  Status EndRecord();

  // The answers of the second run, in the same order. Counts into `report`.
  void Compare(const Answer& answer, ComparisonReport* report);

 private:
  AnswerComparison(ScratchList<float> logits, ScratchList<bool> evicted);

  ScratchList<float> logits_;
  ScratchList<bool> evicted_;  // of each answer: it could not see the oldest tokens
  std::size_t next_logit_ = 0;
  std::size_t next_answer_ = 0;
};

}  // namespace hstu

#endif  // HSTU_DATA_ANSWER_COMPARISON_H_
