#include "kernels/stages.h"

#include <gmock/gmock.h>

namespace hstu {
namespace {

using testing::ElementsAre;

const std::vector<Stage> kThree = {{1, {}}, {1, {4, 4}}, {1, {3, 2}}};
const std::vector<Stage> kOverlapping = {{2, {}}, {1, {8, 4}}};

TEST(Stages, AWindowIsCompleteOnceItsLastInputIsThere) {
  EXPECT_THAT(CompleteTokens(kThree, 11), ElementsAre(11, 2, 0));
  EXPECT_THAT(CompleteTokens(kThree, 12), ElementsAre(12, 3, 1));
  EXPECT_THAT(CompleteTokens(kThree, 4096), ElementsAre(4096, 1024, 511));
  EXPECT_THAT(CompleteTokens(kOverlapping, 7), ElementsAre(7, 0));
  EXPECT_THAT(CompleteTokens(kOverlapping, 12), ElementsAre(12, 2));
}

TEST(Stages, AStreamBehindSkippedTokensLosesTheWindowsOverThem) {
  StagePositions counts = FirstWithout(kOverlapping, 32);
  EXPECT_THAT(counts, ElementsAre(32, 8));
  AdvanceTo(kOverlapping, 38, &counts);  // window 7 holds [28, 36)
  EXPECT_THAT(counts, ElementsAre(38, 8));
  AdvanceTo(kOverlapping, 40, &counts);
  EXPECT_THAT(counts, ElementsAre(40, 9));
}

TEST(Stages, ResumingGoesBackToTheOldestIncompleteWindow) {
  EXPECT_THAT(ResumePositions(kOverlapping, 7), ElementsAre(0, 0));
  EXPECT_THAT(ResumePositions(kOverlapping, 17), ElementsAre(12, 3));
  // Five windows of four; the next token of the last stage begins at the fourth of them.
  EXPECT_THAT(ResumePositions(kThree, 23), ElementsAre(16, 4, 2));
  EXPECT_THAT(ResumePositions(std::vector<Stage>{{3, {}}}, 17), ElementsAre(17));
}

TEST(Stages, EvictionKeepsWindowsThatReadNothingOfWhatGoes) {
  EXPECT_THAT(FirstWithout(kThree, 32), ElementsAre(32, 8, 4));
  EXPECT_THAT(FirstWithout(kThree, 33), ElementsAre(33, 9, 5));
}

TEST(Stages, TheUnitOfEvictionIsWholePagesAndStrides) {
  EXPECT_EQ(EvictionUnit(kThree, 32), 32);
  EXPECT_EQ(EvictionUnit(std::vector<Stage>{{1, {}}, {1, {3, 3}}, {1, {2, 2}}}, 32), 96);
  EXPECT_EQ(EvictionUnit(std::vector<Stage>{{1, {}}}, 64), 64);
}

}  // namespace
}  // namespace hstu
