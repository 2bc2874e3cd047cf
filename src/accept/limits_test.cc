#include "accept/limits.h"

#include <gmock/gmock.h>

#include "accept/baseline.h"
#include "base/test_files.h"

namespace hstu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LimitsTest : public testing::Test {
 protected:
  std::string ErrorOf(const std::string& content) {
    Limits limits = DefaultLimits(true);
    const Status status = ReadLimits(folder_.Write("limits.json", content), &limits);
    return status.ok() ? "no error" : status.error().message;
  }
  TestFolder folder_;
};

TEST_F(LimitsTest, AreThoseOfTheTypeUntilAFileChangesThem) {
  EXPECT_EQ(DefaultLimits(true).consistency, 1e-3);
  EXPECT_EQ(DefaultLimits(false).eviction, 3e-2);
  Limits limits = DefaultLimits(true);
  const std::string file = folder_.Write("l.json", R"({"cold_start": 0.1, "steady_step": null})");
  ASSERT_TRUE(ReadLimits(file, &limits).ok());
  EXPECT_EQ(limits.cold_start, 0.1);
  EXPECT_EQ(limits.steady_step, std::nullopt);
  EXPECT_EQ(limits.bucket_switch, 1.3);
}

TEST_F(LimitsTest, ErrorsNameFileAndKey) {
  EXPECT_THAT(ErrorOf(R"({"cold": 1})"),
              AllOf(HasSubstr("limits.json"), HasSubstr("\"cold\""), HasSubstr("cold_start")));
  EXPECT_THAT(ErrorOf(R"({"cold_start": "1"})"), HasSubstr("cold_start is \"1\""));
  EXPECT_THAT(ErrorOf(R"({"cold_start": -1})"), HasSubstr("at least 0"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("limits.json"));
}

TEST_F(LimitsTest, ABaselineIsReadAsItWasWritten) {
  const std::string file = folder_ / "baseline.json";
  ASSERT_TRUE(WriteBaseline({0.93}, file).ok());
  const Result<Baseline> baseline = ReadBaseline(file);
  ASSERT_TRUE(baseline.ok());
  EXPECT_EQ(baseline->steady_step_ratio, 0.93);
  EXPECT_THAT(ReadBaseline(folder_.Write("b.json", "{}")).error().message,
              HasSubstr("--record-baseline"));
}

}  // namespace
}  // namespace hstu
