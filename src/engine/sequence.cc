#include "engine/sequence.h"

namespace hstu {

HistoryPlan PlanFresh(std::span<const Stage> stages, int64_t skip, int64_t tokens) {
  const StagePositions first = FirstWithout(stages, skip);
  StagePositions end = first;
  AdvanceTo(stages, tokens, &end);
  HistoryPlan plan;
  for (size_t i = 0; i < stages.size(); ++i) plan.stages.push_back({first[i], first[i], end[i]});
  return plan;
}

}  // namespace hstu
