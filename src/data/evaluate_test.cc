#include "data/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "data/preprocess.h"
#include "data/testing.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Answers with score(item) for every task, and keeps what it was asked.
class FakeModel {
 public:
  explicit FakeModel(std::int64_t num_tasks) : num_tasks_(num_tasks) {}

  Scorer scorer() {
    return [this](std::span<const Request> requests) {
      steps_.push_back(requests.size());
      std::vector<Answer> answers;
      for (const Request& request : requests) {
        requests_.push_back(request);
        answers.push_back(FakeAnswer(request, num_tasks_));
      }
      return answers;
    };
  }

  const std::vector<Request>& requests() const { return requests_; }
  const std::vector<std::size_t>& steps() const { return steps_; }

 private:
  std::int64_t num_tasks_;
  std::vector<Request> requests_;
  std::vector<std::size_t> steps_;
};

class EvaluateTest : public testing::Test {
 protected:
  EvaluateTest() {
    options_.data = folder_.path();
    options_.item_feature = "video_id";
    options_.action_feature = "action_weights";
    options_.num_tasks = 2;
    options_.candidates = 2;
    options_.max_history = 2;
    options_.all_users = true;
  }

  void Write(const std::string& rows,
             const std::string& header = "user_id,video_id,action_weights") {
    folder_.Write("processed_seqs.csv", header + "\n" + rows);
  }
  Result<EvalReport> Run() { return Evaluate(options_, model_.scorer()); }
  std::string ErrorOf() {
    auto report = Run();
    return report.ok() ? "no error" : report.error().message;
  }

  TestFolder folder_;
  EvalOptions options_;
  FakeModel model_{2};
};

TEST_F(EvaluateTest, TheLastItemsAreCandidatesAndTheNewestBeforeThemTheHistory) {
  options_.contextual_features = {"user_id"};
  Write("7,\"[1, 2, 3, 4, 5]\",\"[10, 20, 30, 40, 50]\"\n");
  ASSERT_EQ(ErrorOf(), "no error");
  ASSERT_THAT(model_.requests(), SizeIs(1));
  const Request& request = model_.requests()[0];
  EXPECT_THAT(request.items, ElementsAre(2, 3));
  EXPECT_THAT(request.actions, ElementsAre(20, 30));
  EXPECT_THAT(request.candidates, ElementsAre(4, 5));
  EXPECT_THAT(request.contextual, ElementsAre(std::pair<std::string, std::int64_t>("user_id", 7)));
  EXPECT_EQ(request.user_id, std::nullopt) << "evaluation must not leave users in a cache";
}

TEST_F(EvaluateTest, KeepOldestCutsTheSequenceToItsFirstItems) {
  options_.keep_oldest = true;
  Write("7,\"[1, 2, 3, 4, 5]\",\"[10, 20, 30, 40, 50]\"\n8,\"[1, 2, 3]\",\"[1, 1, 1]\"\n");
  ASSERT_EQ(ErrorOf(), "no error");
  EXPECT_THAT(model_.requests()[0].items, ElementsAre(1, 2));
  EXPECT_THAT(model_.requests()[0].candidates, ElementsAre(3, 4));
  EXPECT_THAT(model_.requests()[1].items, ElementsAre(1));
}

TEST_F(EvaluateTest, TheTestSetIsTheLastThirtyPercentOfUsersWithMoreItemsThanCandidates) {
  options_.all_users = false;
  std::string rows;
  for (int user = 0; user < 11; ++user) {
    rows += std::to_string(user) + ",\"[1, 2]\",\"[0, 0]\"\n";  // too short, counts for nothing
    rows += std::to_string(user) + ",\"[" + std::to_string(user) + ", 2, 3]\",\"[0, 1, 0]\"\n";
  }
  Write(rows);
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->file_users, 22);
  EXPECT_EQ(report->eligible_users, 11);
  EXPECT_EQ(report->users, 4);  // 11 - int(7.7)
  EXPECT_EQ(model_.requests().front().items.front(), 7);
}

TEST_F(EvaluateTest, ScoresTheModelAndBothBaselines) {
  options_.candidates = 2;
  // Task 0 is bit 0, task 1 is bit 1. The model's score is the item's number.
  Write(
      "1,\"[5, 9, 5, 9]\",\"[1, 0, 0, 1]\"\n"  // newest known action 0
      "2,\"[5, 9, 9, 5]\",\"[1, 3, 0, 1]\"\n"  // newest known action 3
      "3,\"[9, 5]\",\"[3, 3]\"\n");            // no more items than candidates: not known
  auto report = Run();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->candidates, 4);
  const TaskReport& task = report->tasks[0];
  EXPECT_EQ(task.name, "task_0");
  EXPECT_EQ(task.model.positives, 2);
  // Positives have the scores 9 and 5, negatives 5 and 9.
  EXPECT_EQ(task.model.value, 0.5);
  // Known positives: item 5 twice, item 9 once; candidates (item, label): (5,0) (9,1) (9,0) (5,1).
  EXPECT_EQ(task.popularity.value, 0.5);
  EXPECT_EQ(task.last_action.value, 0.5);
  EXPECT_EQ(report->tasks[1].model.value, std::nullopt) << "no candidate is positive";

  auto json = EvalJson(report.value());
  EXPECT_EQ(json["auc"]["task_0"], 0.5);
  EXPECT_TRUE(json["auc"]["task_1"].is_null());
  EXPECT_EQ(json["tasks"][0]["positives"], 2);
  EXPECT_TRUE(json["latency"].contains("p99"));
  EXPECT_THAT(EvalTable(report.value()), HasSubstr("task_0"));
}

TEST_F(EvaluateTest, PopularityCountsKnownPositivesOfAllUsers) {
  options_.candidates = 2;
  Write(
      "1,\"[5, 5, 9, 5, 9]\",\"[1, 1, 1, 1, 0]\"\n"
      "2,\"[9, 8, 5, 9]\",\"[0, 2, 1, 0]\"\n");
  auto report = Run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tasks[0].popularity.value, 1.0);  // item 5: 2, item 9: 1
  EXPECT_EQ(report->tasks[0].model.value, 0.0);
}

TEST_F(EvaluateTest, AStepHoldsNoMoreTokensThanAllowedUnlessOneUserHas) {
  options_.step_tokens = 10;
  std::string rows;
  for (int user = 0; user < 5; ++user) rows += "1,\"[1, 2, 3]\",\"[0, 1, 0]\"\n";  // 4 tokens each
  rows += "1,\"[1, 2, 3, 4]\",\"[0, 1, 0, 1]\"\n";                                 // 6 tokens
  Write(rows);
  auto report = Run();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(model_.steps(), ElementsAre(2, 2, 2));
  EXPECT_EQ(report->tokens, 26);
  EXPECT_EQ(report->steps, 3);
  options_.step_tokens = 1;
  ASSERT_TRUE(Run().ok());
}

TEST_F(EvaluateTest, RatingsMakeOneTaskOfFourStarsOnEitherScale) {
  options_.item_feature = "movie_id";
  options_.action_feature = "rating";
  options_.num_tasks = 1;
  model_ = FakeModel(1);
  const char* header = "user_id,movie_id,rating";
  Write("1,\"[1, 1, 2]\",\"[4, 2, 3]\"\n", header);
  auto whole = Run();
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->tasks[0].model.value, 1.0);  // codes 2 and 3: below and at 4 stars

  Write("1,\"[1, 1, 2]\",\"[9, 6, 7]\"\n", header);
  EXPECT_EQ(Run()->tasks[0].model.value, 1.0);

  options_.positive_rating = 8;
  EXPECT_EQ(Run()->tasks[0].model.value, std::nullopt);
  options_.num_tasks = 10;
  EXPECT_THAT(ErrorOf(), HasSubstr("10 outputs"));
}

TEST_F(EvaluateTest, ErrorsNameFileAndLine) {
  Write("1,\"[1, 2, 3]\",\"[1, 2]\"\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("processed_seqs.csv:2: the user has 3 items and 2 actions"));
  Write("1,\"[1, 2]\",\"[1, 2]\"\n");
  EXPECT_THAT(ErrorOf(), HasSubstr("none of its 1 users has more than 2 items"));
  Write("1,\"[1, 2, 3]\",\"[1, 2, 3]\"\n");
  Scorer failing = [](std::span<const Request>) {
    Answer answer;
    answer.error = Error{ErrorCode::kIdOutOfRange, "video_id 3 is outside"};
    return std::vector<Answer>{answer};
  };
  auto report = Evaluate(options_, failing);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kIdOutOfRange);
  EXPECT_THAT(report.error().message, HasSubstr("processed_seqs.csv:2: video_id 3"));
  Scorer nan = [](std::span<const Request>) {
    Answer answer;
    answer.logits = {NAN, NAN, NAN, NAN};
    return std::vector<Answer>{answer};
  };
  EXPECT_FALSE(Evaluate(options_, nan).ok());
  options_.data = folder_ / "nothing";
  EXPECT_THAT(ErrorOf(), HasSubstr("nothing is not there"));
}

// The baselines of the shipped sample, as the training script computes them with numpy.
TEST(EvaluateSample, BaselinesAreThoseOfTheModelCard) {
  TestFolder folder;
  const std::string example = HSTU_SOURCE_DIR "/examples/kuairand";
  PreprocessOptions preprocess;
  preprocess.data_dir = example + "/data";
  preprocess.out_dir = folder.path();
  preprocess.inference = false;
  ASSERT_TRUE(Preprocess(preprocess).ok());
  EvalOptions options;
  options.data = folder.path();
  options.item_feature = "video_id";
  options.action_feature = "action_weights";
  options.num_tasks = 8;
  options.candidates = 8;
  options.max_history = 1023;
  FakeModel model(8);
  auto report = Evaluate(options, model.scorer());
  ASSERT_TRUE(report.ok()) << report.error().message;
  auto expected = nlohmann::json::parse(ReadWholeFile(example + "/expected_auc.json"));
  EXPECT_EQ(report->users, expected["users"]);
  EXPECT_EQ(report->candidates, expected["candidates"]);
  for (std::size_t task = 0; task < 8; ++task) {
    const auto& known = expected["tasks"][task];
    EXPECT_EQ(report->tasks[task].name, known["task"].get<std::string>());
    EXPECT_EQ(report->tasks[task].model.positives, known["positives"]);
    EXPECT_NEAR(*report->tasks[task].popularity.value, known["popularity"], 1e-12);
    EXPECT_NEAR(*report->tasks[task].last_action.value, known["last_action"], 1e-12);
  }
}

}  // namespace
}  // namespace hstu
