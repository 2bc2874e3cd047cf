#include "kernels/stages.h"

#include <algorithm>
#include <numeric>

#include "base/aligned.h"

namespace hstu {

StagePositions CompleteTokens(std::span<const Stage> stages, int64_t tokens) {
  StagePositions counts(stages.size());
  AdvanceTo(stages, tokens, &counts);
  return counts;
}

void AdvanceTo(std::span<const Stage> stages, int64_t tokens, StagePositions* counts) {
  (*counts)[0] = tokens;
  for (size_t i = 1; i < stages.size(); ++i) {
    (*counts)[i] = std::max((*counts)[i], stages[i].aggregation.Complete((*counts)[i - 1]));
  }
}

StagePositions ResumePositions(std::span<const Stage> stages, int64_t tokens) {
  StagePositions positions = CompleteTokens(stages, tokens);
  for (size_t i = stages.size() - 1; i > 0; --i) {
    positions[i - 1] = positions[i] * stages[i].aggregation.stride;
  }
  return positions;
}

StagePositions FirstWithout(std::span<const Stage> stages, int64_t position) {
  StagePositions positions;
  for (const Stage& stage : stages) {
    position = CeilDiv(position, stage.aggregation.stride);
    positions.push_back(position);
  }
  return positions;
}

StagePositions MostKept(std::span<const Stage> stages, int64_t tokens) {
  return FirstWithout(stages, tokens);
}

int64_t EvictionUnit(std::span<const Stage> stages, int64_t page_tokens) {
  int64_t strides = 1;
  for (const Stage& stage : stages) strides *= stage.aggregation.stride;
  return std::lcm(strides, page_tokens);
}

}  // namespace hstu
