#include "data/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "data/testing.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// Keeps what it was asked, and answers with the candidate's number as the logit of every task.
class FakeModel {
 public:
  explicit FakeModel(std::int64_t num_tasks) : num_tasks_(num_tasks) {}

  Scorer scorer() {
    return [this](std::span<const Request> requests) {
      batches_.push_back(requests.size());
      std::vector<Answer> answers;
      for (const Request& request : requests) answers.push_back(Rank(request));
      return answers;
    };
  }

  const std::vector<Request>& requests() const { return requests_; }
  const std::vector<std::size_t>& batches() const { return batches_; }

  std::int64_t known_items = 0;         // below a history_start, requests are refused
  float offset = 0;                     // of the logits
  std::int64_t evicted_from = 1 << 30;  // items with which the oldest token is evicted

 private:
  Answer Rank(const Request& request) {
    requests_.push_back(request);
    const std::int64_t start = request.history_start.value_or(0);
    Answer answer = FakeAnswer(request, num_tasks_, offset);
    if (start > known_items) {
      answer.error = Error{ErrorCode::kHistoryNotCached, "send the whole history"};
      return answer;
    }
    answer.history_items = start + static_cast<std::int64_t>(request.items.size());
    answer.cached_tokens = 2 * start;
    answer.evicted_tokens = answer.history_items >= evicted_from ? 1 : 0;
    return answer;
  }

  std::int64_t num_tasks_;
  std::vector<Request> requests_;
  std::vector<std::size_t> batches_;
};

class SimulateTest : public testing::Test {
 protected:
  SimulateTest() {
    options_.data = folder_.path();
    options_.item_feature = "video_id";
    options_.action_feature = "action_weights";
    options_.num_tasks = 2;
    options_.max_history_tokens = 100;
    options_.max_num_candidates = 3;
  }

  void Write(const std::string& rows, const std::string& batches) {
    folder_.Write("processed_seqs_inference.csv",
                  "user_id,date,video_id,action_weights,interval_indptr,degree\n" + rows);
    folder_.Write("processed_batches.csv",
                  "user_id,date,interval_end_ts,interval_indptr\n" + batches);
  }
  // One user, two days: items 1 to 3, then 4 and 5; actions are 0 to 4.
  void WriteTwoDays() {
    Write(
        "7,1,\"[1, 2, 3]\",\"[0, 1, 2]\",\"[0, 2, 3]\",40\n"
        "7,2,\"[4, 5]\",\"[3, 4]\",\"[0, 1, 2]\",41\n",
        "7,1,10,2\n7,1,20,3\n7,2,30,1\n7,2,40,2\n");
  }

  Result<SimulateReport> Run(bool cached = true) {
    return Simulate(options_, model_.scorer(), cached, Scorer());
  }
  std::string ErrorOf() {
    auto report = Run();
    return report.ok() ? "no error" : report.error().message;
  }

  TestFolder folder_;
  SimulateOptions options_;
  FakeModel model_{2};
};

TEST_F(SimulateTest, AnIntervalIsARequestWithTheItemsThatFollowAsCandidates) {
  options_.contextual_features = {"degree"};
  WriteTwoDays();
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_THAT(model_.requests(), SizeIs(4));
  const auto& requests = model_.requests();
  EXPECT_EQ(requests[0].user_id, "7");
  EXPECT_THAT(requests[0].items, ElementsAre(1, 2));
  EXPECT_THAT(requests[0].actions, ElementsAre(0, 1));
  EXPECT_THAT(requests[0].candidates, ElementsAre(3, 4, 5)) << "on later days too";
  EXPECT_THAT(requests[0].contextual, ElementsAre(Pair("degree", 40)));
  EXPECT_THAT(requests[2].items, ElementsAre(1, 2, 3, 4)) << "days continue one another";
  EXPECT_THAT(requests[2].candidates, ElementsAre(5));
  EXPECT_THAT(requests[2].contextual, ElementsAre(Pair("degree", 41)));
  EXPECT_THAT(requests[3].candidates, IsEmpty()) << "none are left";
  for (const Request& request : requests) EXPECT_EQ(request.history_start, std::nullopt);
  EXPECT_EQ(report->requests, 4);
  EXPECT_EQ(report->candidates, 3 + 2 + 1);
  EXPECT_EQ(report->history_tokens, 4 * 1 + 2 * (2 + 3 + 4 + 5));
  EXPECT_EQ(report->tokens_asked, report->history_tokens + report->candidates);
}

TEST_F(SimulateTest, CandidatesAreTheModelsMostAtMost) {
  options_.max_num_candidates = 2;
  WriteTwoDays();
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(model_.requests()[0].candidates, ElementsAre(3, 4));
}

TEST_F(SimulateTest, ApartADaysHistoryBeginsWithTheDay) {
  options_.days_apart = true;
  WriteTwoDays();
  ASSERT_TRUE(Run().ok());
  EXPECT_THAT(model_.requests()[2].items, ElementsAre(4));
  EXPECT_THAT(model_.requests()[0].candidates, ElementsAre(3, 4, 5))
      << "the same are scored in both ways";
}

TEST_F(SimulateTest, IntervalsOfAUserInOneBatchStayApartAndInOrder) {
  options_.max_batch = 3;
  WriteTwoDays();
  auto report = Run();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(model_.batches(), ElementsAre(3, 1));
  EXPECT_EQ(report->run.batches, 2);
  EXPECT_THAT(model_.requests()[0].items, SizeIs(2));
  EXPECT_THAT(model_.requests()[1].items, SizeIs(3));
  EXPECT_THAT(model_.requests()[2].items, SizeIs(4));
}

TEST_F(SimulateTest, PastTheLimitWhatIsNewIsSentAndWhatWasForgottenAgainWhole) {
  options_.max_history_tokens = 5;
  model_.known_items = 3;  // the third continuation is refused
  WriteTwoDays();
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto& requests = model_.requests();
  ASSERT_THAT(requests, SizeIs(5));
  EXPECT_EQ(requests[0].history_start, std::nullopt);
  EXPECT_EQ(requests[1].history_start, 2);
  EXPECT_THAT(requests[1].items, ElementsAre(3));
  EXPECT_EQ(requests[2].history_start, 3);
  EXPECT_THAT(requests[2].items, ElementsAre(4));
  EXPECT_EQ(requests[3].history_start, 4);
  EXPECT_EQ(requests[4].history_start, std::nullopt);
  EXPECT_THAT(requests[4].items, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(report->resent, 1);
  EXPECT_EQ(report->requests, 4);
  EXPECT_EQ(report->tiers[0].hits, 2);
  EXPECT_EQ(report->tiers[0].tokens, 2 * (2 + 3));
  EXPECT_EQ(report->tokens_computed, report->tokens_asked - 10);
}

TEST_F(SimulateTest, PastTheLimitWholeHistoriesAreSentWithoutACacheAndWhereTooMuchIsNew) {
  options_.max_history_tokens = 5;
  WriteTwoDays();
  ASSERT_TRUE(Run(false).ok());
  for (const Request& request : model_.requests()) EXPECT_EQ(request.history_start, std::nullopt);
  Write("7,1,\"[1, 2, 3, 4]\",\"[0, 0, 0, 0]\",\"[0, 1, 4]\",0\n", "7,1,10,1\n7,1,20,4\n");
  model_ = FakeModel(2);
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(model_.requests()[1].history_start, std::nullopt) << "six new tokens";
}

TEST_F(SimulateTest, AucsAreOfWhatTheUserThenDid) {
  Write(
      "7,1,\"[1, 5, 9]\",\"[0, 1, 2]\",\"[0, 1, 3]\",0\n"
      "8,1,\"[1, 6, 4]\",\"[0, 1, 2]\",\"[0, 1, 3]\",0\n"
      "9,1,\"[1, 2]\",\"[0, 0]\",\"[0, 1, 2]\",0\n",
      "7,1,1,1\n8,1,1,1\n9,1,1,1\n");
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_THAT(report->tasks, SizeIs(2));
  EXPECT_EQ(report->tasks[0].name, "task_0");
  EXPECT_EQ(report->tasks[0].auc.positives, 2);  // 5 and 6, against 9, 4 and 2
  EXPECT_DOUBLE_EQ(*report->tasks[0].auc.value, 4.0 / 6);
  EXPECT_DOUBLE_EQ(*report->tasks[1].auc.value, 4.0 / 6);  // 9 and 4, against 5, 6 and 2
  const auto json = SimulateJson(report.value());
  EXPECT_DOUBLE_EQ(json["auc"]["task_0"].get<double>(), 4.0 / 6);
  EXPECT_THAT(SimulateTable(report.value()), HasSubstr("task_1"));
}

TEST_F(SimulateTest, WithoutAucNoLabelsAreNeeded) {
  options_.auc = false;
  options_.action_feature = std::nullopt;
  folder_.Write("processed_seqs_inference.csv",
                "user_id,date,video_id,interval_indptr\n7,1,\"[1, 2]\",\"[0, 1, 2]\"\n");
  folder_.Write("processed_batches.csv",
                "user_id,date,interval_end_ts,interval_indptr\n7,1,5,1\n7,1,6,2\n");
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->tasks, IsEmpty());
  EXPECT_THAT(model_.requests()[1].actions, IsEmpty());
  EXPECT_FALSE(SimulateJson(report.value()).contains("auc"));
}

TEST_F(SimulateTest, MovieLensHasNoDatesAndOneTask) {
  options_.item_feature = "movie_id";
  options_.action_feature = "rating";
  options_.num_tasks = 1;
  model_ = FakeModel(1);
  folder_.Write("processed_seqs_inference.csv",
                "user_id,movie_id,rating,interval_indptr\n"
                "7,\"[1, 2, 9]\",\"[0, 2, 3]\",\"[0, 1, 3]\"\n");
  folder_.Write("processed_batches.csv", "user_id,interval_end_ts,interval_indptr\n7,5,1\n7,6,3\n");
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->tasks[0].auc.value, 1.0);
  EXPECT_EQ(report->tasks[0].name, "rating_code_at_least_3");
}

TEST_F(SimulateTest, ComparesWithARunWithoutTheCacheBitByBit) {
  WriteTwoDays();
  FakeModel same(2);
  auto report = Simulate(options_, model_.scorer(), true, same.scorer());
  ASSERT_TRUE(report.ok());
  ASSERT_TRUE(report->comparison.has_value());
  EXPECT_EQ(report->comparison->answers, 4);
  EXPECT_EQ(report->comparison->different, 0);
  EXPECT_EQ(report->comparison->run.batches, 4);
  EXPECT_THAT(SimulateTable(report.value()), HasSubstr("4 of 4 answers have the same bits"));

  FakeModel other(2);
  other.offset = 0.5;
  other.evicted_from = 4;
  report = Simulate(options_, model_.scorer(), true, other.scorer());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->comparison->answers, 2);
  EXPECT_EQ(report->comparison->different, 2);
  EXPECT_EQ(report->comparison->largest_difference, 0.5);
  EXPECT_EQ(report->comparison->evicted, 2) << "these may differ";
  EXPECT_EQ(report->comparison->largest_evicted_difference, 0.5);
  const auto json = SimulateJson(report.value());
  EXPECT_EQ(json["without_cache"]["different"], 2);
  EXPECT_THAT(SimulateTable(report.value()), HasSubstr("2 answers had evicted tokens"));
}

TEST_F(SimulateTest, ErrorsNameTheFileAndTheLine) {
  EXPECT_THAT(ErrorOf(), HasSubstr("processed_seqs_inference.csv is not there"));
  WriteTwoDays();
  Write("7,1,[1],[0],\"[0, 1]\",0\n", "8,1,10,1\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("processed_batches.csv: none of its 1 intervals has a row"));
  WriteTwoDays();
  const Scorer failing = [](std::span<const Request>) {
    Answer answer;
    answer.error = Error{ErrorCode::kIdOutOfRange, "video_id 3 is outside"};
    return std::vector<Answer>{answer};
  };
  auto report = Simulate(options_, failing, true, Scorer());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kIdOutOfRange);
  EXPECT_THAT(report.error().message, HasSubstr("processed_seqs_inference.csv:2: video_id 3"));
  model_.offset = NAN;
  EXPECT_THAT(ErrorOf(),
              HasSubstr("processed_seqs_inference.csv:2: a candidate got the logit NaN"));
}

}  // namespace
}  // namespace hstu
