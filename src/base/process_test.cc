#include "base/process.h"

#include <gtest/gtest.h>

namespace hstu {
namespace {

TEST(Process, GivesStatusAndBothOutputs) {
  const auto outcome = RunProcess({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->status, 3);
  EXPECT_EQ(outcome->output, "out\nerr\n");
}

TEST(Process, TellsTheSignalThatEndedIt) {
  const auto outcome = RunProcess({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, 128 + 9);
}

TEST(Process, NamesAProgramThatIsMissing) {
  const auto outcome = RunProcess({"no-such-program"});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("no-such-program"), std::string::npos);
}

TEST(Process, WordsAreNoShellText) {
  const auto outcome = RunProcess({"printf", "%s", "a b; $(exit 1)"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->output, "a b; $(exit 1)");
}

TEST(Process, MayBeLookedAtWhileItRuns) {
  auto process =
      Process::Start({"sh", "-c", "echo begun; sleep 0.2; exit 4"}, Process::Output::kStandard);
  ASSERT_TRUE(process.ok()) << process.error().message;
  std::string text;
  while (text.empty()) ASSERT_TRUE(process->Read(1000, &text));
  EXPECT_EQ(text, "begun\n");
  EXPECT_GT(PeakResidentBytes(process->pid()), 100000);
  EXPECT_EQ(process->Wait(), 4);
}

TEST(Process, MemoryOfOneThatIsGoneIsZero) { EXPECT_EQ(PeakResidentBytes(-1), 0); }

}  // namespace
}  // namespace hstu
