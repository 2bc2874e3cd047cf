#include "data/answer_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hstu {

Result<AnswerComparison> AnswerComparison::Create() {
  HSTU_ASSIGN_OR_RETURN(auto logits, ScratchList<float>::Create());
  HSTU_ASSIGN_OR_RETURN(auto evicted, ScratchList<bool>::Create());
  return AnswerComparison(std::move(logits), std::move(evicted));
}

AnswerComparison::AnswerComparison(ScratchList<float> logits, ScratchList<bool> evicted)
    : logits_(std::move(logits)), evicted_(std::move(evicted)) {}

Status AnswerComparison::Record(const Answer& answer) {
  HSTU_RETURN_IF_ERROR(evicted_.Append(answer.evicted_tokens > 0));
  return logits_.Append(std::span<const float>(answer.logits));
}

Status AnswerComparison::EndRecord() {
  HSTU_RETURN_IF_ERROR(evicted_.Map());
  return logits_.Map();
}

void AnswerComparison::Compare(const Answer& answer, ComparisonReport* report) {
  const std::span<const float> first = logits_.values().subspan(next_logit_, answer.logits.size());
  next_logit_ += answer.logits.size();
  const bool evicted = evicted_.values()[next_answer_++] || answer.evicted_tokens > 0;
  double largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    largest = std::max(largest, std::abs(double{first[i]} - double{answer.logits[i]}));
  }
  if (evicted) {
    ++report->evicted;
    report->largest_evicted_difference = std::max(report->largest_evicted_difference, largest);
    return;
  }
  ++report->answers;
  const bool same =
      first.empty() || std::memcmp(first.data(), answer.logits.data(), first.size_bytes()) == 0;
  if (!same) ++report->different;
  report->largest_difference = std::max(report->largest_difference, largest);
}

}  // namespace hstu
