#include "compile/step_plan.h"

#include <gtest/gtest.h>

#include "compile/testing.h"

namespace hstu {
namespace {

bool Apart(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a + a_bytes <= b || b + b_bytes <= a;
}

TEST(StepPlan, OneStageIsRowsAndTheirProjections) {
  const StepPlan plan = PlanStep(SmallConfig({{3, {}}}), DType::kF32, 100);
  const int64_t x = 100 * 32 * 4;
  const int64_t uvqk = 100 * 128 * 4;
  EXPECT_EQ(plan.bytes, x + uvqk);  // logits lie where projections were
  EXPECT_TRUE(Apart(plan.x[0], x, plan.uvqk[0], uvqk));
  EXPECT_TRUE(Apart(plan.x[0], x, plan.logits, 100 * 8 * 4));
}

TEST(StepPlan, StagesShareMemoryAndNeverTheRowsTheyPassOn) {
  const StepPlan one = PlanStep(SmallConfig({{3, {}}}), DType::kF32, 100);
  const StepPlan plan =
      PlanStep(SmallConfig({{1, {}}, {1, {2, 2}}, {1, {4, 2}}}), DType::kF32, 100);
  EXPECT_EQ(plan.bytes, one.bytes);
  const int64_t x = 100 * 32 * 4;
  const int64_t uvqk = 100 * 128 * 4;
  for (size_t stage = 0; stage < 3; ++stage) {
    EXPECT_TRUE(Apart(plan.x[stage], x, plan.uvqk[stage], uvqk));
    if (stage == 0) continue;
    EXPECT_TRUE(Apart(plan.x[stage], x, plan.x[stage - 1], x));
  }
  EXPECT_TRUE(Apart(plan.x[2], x, plan.logits, 100 * 8 * 4));
}

TEST(StepPlan, HalvesWithHalfTheBytesOfAnElement) {
  const ModelConfig config = SmallConfig({{2, {}}});
  EXPECT_EQ(PlanStep(config, DType::kBF16, 128).bytes,
            PlanStep(config, DType::kF32, 128).bytes / 2);
}

}  // namespace
}  // namespace hstu
