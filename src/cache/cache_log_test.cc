#include "cache/cache_log.h"

#include <gmock/gmock.h>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::HasSubstr;

class CacheLogTest : public testing::Test {
 protected:
  CacheLogTest() : log_(std::move(CacheLog::Open(path_, 32)).value()) {}

  void Add(CacheOperation operation, const char* user, int64_t position, int64_t count,
           const std::vector<int32_t>& table, int64_t layer = 0) {
    log_->Add({operation, layer, user, position, count, table, 0});
  }
  CacheLogReport Check() {
    log_.reset();
    const Result<CacheLogReport> report = CheckCacheLog(path_);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.value();
  }

  TestFolder folder_;
  std::string path_ = folder_ / "log.jsonl";
  std::unique_ptr<CacheLog> log_;
};

TEST_F(CacheLogTest, ALineAPageAndNothingToFind) {
  log_->BeginStep();
  Add(CacheOperation::kWrite, "a\"b", 0, 40, {7, 3});
  log_->BeginStep();
  Add(CacheOperation::kRead, "a\"b", 0, 40, {7, 3});
  Add(CacheOperation::kWrite, "a\"b", 40, 5, {7, 3});
  log_->BeginStep();
  const std::string text = ReadWholeFile(path_);
  EXPECT_THAT(text, HasSubstr(R"({"step":1,"op":"write","layer":0,"offset":224,"length":32,)"));
  EXPECT_THAT(text, HasSubstr(R"("offset":104,"length":5,"user":"a\"b","position":40})"));
  const CacheLogReport report = Check();
  EXPECT_TRUE(report.ok()) << report.first_fault;
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.tokens_written, 45);
  EXPECT_EQ(report.tokens_read, 40);
}

TEST_F(CacheLogTest, FindsASlotThatTwoWriteInOneStep) {
  log_->BeginStep();
  Add(CacheOperation::kWrite, "a", 0, 40, {7, 3});
  Add(CacheOperation::kWrite, "b", 0, 10, {3});
  const CacheLogReport report = Check();
  EXPECT_EQ(report.overlaps, 8);
  EXPECT_THAT(report.first_fault,
              HasSubstr("line 3: a slot of layer 0 is written twice in step 1"));
}

TEST_F(CacheLogTest, FindsWhatIsReadAndWasNeverWritten) {
  log_->BeginStep();
  Add(CacheOperation::kWrite, "a", 0, 40, {7, 3});
  log_->BeginStep();
  Add(CacheOperation::kRead, "a", 0, 41, {7, 3});
  Add(CacheOperation::kRead, "b", 0, 2, {7});
  EXPECT_EQ(Check().gaps, 3);
}

TEST_F(CacheLogTest, FindsTokensThatAStepLeavesOut) {
  log_->BeginStep();
  Add(CacheOperation::kWrite, "a", 0, 20, {7});
  Add(CacheOperation::kWrite, "a", 21, 4, {7});
  const CacheLogReport report = Check();
  EXPECT_EQ(report.gaps, 1);
  EXPECT_THAT(report.first_fault, HasSubstr("leaves out tokens of user a in layer 0"));
}

TEST_F(CacheLogTest, FindsAWriteThatMeetsAReadOfItsStep) {
  log_->BeginStep();
  Add(CacheOperation::kWrite, "a", 0, 20, {7});
  log_->BeginStep();
  Add(CacheOperation::kRead, "a", 0, 20, {7});
  Add(CacheOperation::kWrite, "a", 19, 1, {7});
  EXPECT_EQ(Check().meetings, 1);
}

TEST_F(CacheLogTest, WhatArrivesMayBeReadAfterwardsOnly) {
  log_->BeginStep();
  Add(CacheOperation::kArrive, "a", 0, 20, {7}, 1);
  Add(CacheOperation::kRead, "a", 0, 20, {7}, 1);
  log_->BeginStep();
  Add(CacheOperation::kRead, "a", 0, 20, {7}, 1);
  Add(CacheOperation::kArrive, "a", 0, 20, {7}, 1);
  const CacheLogReport report = Check();
  EXPECT_EQ(report.meetings, 20);
  EXPECT_THAT(report.first_fault, HasSubstr("line 4"));
}

TEST_F(CacheLogTest, RefusesOtherFiles) {
  folder_.Write("other", "{\"step\":1}\n");
  const auto report = CheckCacheLog(folder_ / "other");
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, HasSubstr("line 1: it has no number layer"));
  EXPECT_FALSE(CheckCacheLog(folder_ / "missing").ok());
}

}  // namespace
}  // namespace hstu
