// The promises of hstu.h: the engine's answers, and an error for everything a C caller can get
// wrong.
#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "hstu/hstu.h"
#include "tests/golden.h"

namespace hstu {
namespace {

std::string ModelFolder() { return std::string(HSTU_GOLDEN_DIR) + "/kuairand/model"; }

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hstuLoadModel(ModelFolder().c_str(), nullptr, &model_), HSTU_OK) << hstuLastError();
    ASSERT_EQ(hstuNumTasks(model_, &num_tasks_), HSTU_OK);
    request_.structSize = sizeof(hstuRequest);
    request_.userId = "u";
    request_.contextualNames = names_;
    request_.contextualIds = contextual_;
    request_.numContextual = 3;
    request_.items = items_;
    request_.numItems = 2;
    request_.actions = actions_;
    request_.numActions = 2;
    request_.candidates = candidates_;
    request_.numCandidates = 3;
    logits_.assign(3 * num_tasks_, kUntouched);
    answer_.structSize = sizeof(hstuAnswer);
    answer_.logits = logits_.data();
    answer_.logitsCapacity = static_cast<int64_t>(logits_.size());
  }
  void TearDown() override { hstuDestroyModel(model_); }

  int RankOne() { return hstuRank(model_, &request_, 1, &answer_); }

  // The call fails with this code, its text holds `part`, and no logit was written.
  void ExpectRefused(int code, const std::string& part) {
    EXPECT_EQ(RankOne(), code);
    EXPECT_THAT(hstuLastError(), testing::HasSubstr(part));
    EXPECT_THAT(logits_, testing::Each(kUntouched));
  }

  static constexpr float kUntouched = 12345.0F;
  hstuModel* model_ = nullptr;
  int64_t num_tasks_ = 0;
  const char* names_[3] = {"user_id", "user_active_degree", "register_days"};
  int64_t contextual_[3] = {1, 2, 3};
  int64_t items_[2] = {5, 9};
  int64_t actions_[2] = {1, 65};
  int64_t candidates_[3] = {12, 40, 7};
  std::vector<float> logits_;
  hstuRequest request_ = {};
  hstuAnswer answer_ = {};
};

// A request of the C++ API as one of the C API, which points into it.
struct CRequest {
  explicit CRequest(const Request& from) {
    for (const auto& [name, id] : from.contextual) {
      names.push_back(name.c_str());
      ids.push_back(id);
    }
    request.structSize = sizeof(hstuRequest);
    request.userId = from.user_id->c_str();
    request.contextualNames = names.data();
    request.contextualIds = ids.data();
    request.numContextual = static_cast<int64_t>(ids.size());
    request.items = from.items.data();
    request.numItems = static_cast<int64_t>(from.items.size());
    request.actions = from.actions.data();
    request.numActions = static_cast<int64_t>(from.actions.size());
    request.candidates = from.candidates.data();
    request.numCandidates = static_cast<int64_t>(from.candidates.size());
  }
  std::vector<const char*> names;
  std::vector<int64_t> ids;
  hstuRequest request = {};
};

TEST_F(CApi, GivesTheGoldenLogits) {
  const GoldenCase golden = LoadGolden("kuairand");
  std::vector<CRequest> owned;
  owned.reserve(golden.requests.size());
  std::vector<hstuRequest> requests;
  std::vector<std::vector<float>> logits;
  std::vector<hstuAnswer> answers;
  for (size_t i = 0; i < golden.requests.size(); ++i) {
    requests.push_back(owned.emplace_back(golden.requests[i]).request);
    logits.emplace_back(golden.logits[i].size());
    hstuAnswer answer = {};
    answer.structSize = sizeof(hstuAnswer);
    answer.logits = logits.back().data();
    answer.logitsCapacity = static_cast<int64_t>(logits.back().size());
    answers.push_back(answer);
  }
  ASSERT_EQ(
      hstuRank(model_, requests.data(), static_cast<int64_t>(requests.size()), answers.data()),
      HSTU_OK)
      << hstuLastError();
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_EQ(answers[i].error, HSTU_OK);
    EXPECT_STREQ(answers[i].errorMessage, "");
    EXPECT_EQ(answers[i].numTasks, num_tasks_);
    EXPECT_EQ(answers[i].historyItems, requests[i].numItems);
    for (size_t j = 0; j < logits[i].size(); ++j) {
      ASSERT_NEAR(logits[i][j], golden.logits[i][j], 2e-4) << "request " << i;
    }
  }
}

TEST_F(CApi, TakesOptions) {
  hstuOptions options = {};
  options.structSize = sizeof(hstuOptions);
  options.isa = "scalar";
  options.fusedOps = "none";
  options.dtype = "bf16";
  options.bf16Products = "tiles";
  options.threads = 1;
  options.pageSize = 64;
  hstuModel* model = nullptr;
  ASSERT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_OK) << hstuLastError();
  EXPECT_EQ(hstuRank(model, &request_, 1, &answer_), HSTU_OK) << hstuLastError();
  hstuDestroyModel(model);
}

TEST_F(CApi, KeepsUsersWhereItIsAskedTo) {
  hstuOptions options = {};
  options.structSize = sizeof(hstuOptions);
  options.kvCache = 1;
  options.kvBytes = int64_t{64} << 20;
  options.kvDtype = "f32";
  hstuModel* model = nullptr;
  ASSERT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_OK) << hstuLastError();
  request_.userId = "somebody";
  ASSERT_EQ(hstuRank(model, &request_, 1, &answer_), HSTU_OK) << hstuLastError();
  EXPECT_EQ(answer_.cachedTokens, 0);
  const std::vector<float> first = logits_;
  ASSERT_EQ(hstuRank(model, &request_, 1, &answer_), HSTU_OK) << hstuLastError();
  EXPECT_GT(answer_.cachedTokens, 0);
  EXPECT_TRUE(SameBits(logits_, first));
  hstuDestroyModel(model);
}

TEST_F(CApi, TakesTheOptionsOfOlderHeaders) {
  for (const size_t size : {offsetof(hstuOptions, dtype), offsetof(hstuOptions, kvBytes),
                            offsetof(hstuOptions, bf16Products)}) {
    hstuOptions options = {};
    options.structSize = size;
    options.threads = 1;
    options.bf16Products = "past the end of such a struct";
    if (size <= offsetof(hstuOptions, artifacts)) options.artifacts = "this too";
    if (size == offsetof(hstuOptions, dtype)) options.dtype = "that too";
    hstuModel* model = nullptr;
    ASSERT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_OK) << hstuLastError();
    hstuDestroyModel(model);
  }
}

TEST_F(CApi, RefusesOptionsThatCantBeMeant) {
  hstuModel* model = model_;
  hstuOptions options = {};
  EXPECT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("structSize is 0"));
  EXPECT_EQ(model, nullptr);
  options.structSize = sizeof(hstuOptions);
  options.isa = "vax";
  EXPECT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("vax"));
  EXPECT_EQ(model, nullptr);
  options.isa = nullptr;
  options.dtype = "f8";
  EXPECT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("f8"));
  options.dtype = nullptr;
  options.artifacts = "nowhere";
  EXPECT_NE(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_OK);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("nowhere"));
  options.artifacts = nullptr;
  options.operatorPath = "no_folder";
  EXPECT_EQ(hstuLoadModel(ModelFolder().c_str(), &options, &model), HSTU_IO);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("no_folder"));
}

TEST_F(CApi, NamesAModelThatIsNotThere) {
  hstuModel* model = nullptr;
  EXPECT_NE(hstuLoadModel("/nowhere/model", nullptr, &model), HSTU_OK);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("/nowhere/model"));
  EXPECT_EQ(model, nullptr);
}

TEST_F(CApi, RefusesNull) {
  hstuModel* model = nullptr;
  EXPECT_EQ(hstuLoadModel(nullptr, nullptr, &model), HSTU_BAD_ARGUMENT);
  EXPECT_STREQ(hstuLastError(), "folder is NULL");
  EXPECT_EQ(hstuLoadModel(ModelFolder().c_str(), nullptr, nullptr), HSTU_BAD_ARGUMENT);
  EXPECT_EQ(hstuNumTasks(nullptr, &num_tasks_), HSTU_BAD_ARGUMENT);
  EXPECT_EQ(hstuNumTasks(model_, nullptr), HSTU_BAD_ARGUMENT);
  EXPECT_EQ(hstuRank(nullptr, &request_, 1, &answer_), HSTU_BAD_ARGUMENT);
  EXPECT_EQ(hstuRank(model_, nullptr, 1, &answer_), HSTU_BAD_ARGUMENT);
  EXPECT_EQ(hstuRank(model_, &request_, 1, nullptr), HSTU_BAD_ARGUMENT);
  EXPECT_STREQ(hstuLastError(), "answers is NULL");
  hstuDestroyModel(nullptr);
}

TEST_F(CApi, RefusesNullArraysThatShouldHoldSomething) {
  const hstuRequest good = request_;
  request_.items = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "request 0: items is NULL");
  request_ = good;
  request_.actions = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "actions is NULL");
  request_ = good;
  request_.candidates = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "candidates is NULL");
  request_ = good;
  request_.contextualIds = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "contextualIds is NULL");
  request_ = good;
  request_.contextualNames = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "contextualNames is NULL");
  request_ = good;
  names_[1] = nullptr;
  ExpectRefused(HSTU_BAD_ARGUMENT, "contextualNames is NULL");
  answer_.logits = nullptr;
  names_[1] = "user_active_degree";
  ExpectRefused(HSTU_BAD_ARGUMENT, "answer.logits is NULL");
}

TEST_F(CApi, RefusesCountsThatCantBeMeant) {
  const hstuRequest good = request_;
  for (const int64_t count : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{1} << 40,
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(hstuRank(model_, &request_, count, &answer_), HSTU_BAD_ARGUMENT);
    for (int64_t hstuRequest::*field : {&hstuRequest::numContextual, &hstuRequest::numItems,
                                        &hstuRequest::numActions, &hstuRequest::numCandidates}) {
      request_ = good;
      request_.*field = count;
      ExpectRefused(HSTU_BAD_ARGUMENT, "outside [0, 16777216]");
    }
    request_ = good;
  }
}

TEST_F(CApi, RefusesStructsOfAnotherSize) {
  request_.structSize = 0;
  ExpectRefused(HSTU_BAD_ARGUMENT, "request.structSize is 0");
  request_.structSize = sizeof(hstuRequest) + 8;
  ExpectRefused(HSTU_BAD_ARGUMENT, "request.structSize");
  request_.structSize = sizeof(hstuRequest);
  answer_.structSize = 1;
  ExpectRefused(HSTU_BAD_ARGUMENT, "answer.structSize is 1");
}

TEST_F(CApi, WritesOnlyWhereThereIsRoom) {
  for (const int64_t capacity :
       {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{0}, 3 * num_tasks_ - 1}) {
    answer_.logitsCapacity = capacity;
    ExpectRefused(HSTU_BAD_ARGUMENT, "answer.logitsCapacity");
  }
}

TEST_F(CApi, AnswersOthersWhereOneRequestIsBad) {
  hstuRequest requests[3] = {request_, request_, request_};
  std::vector<float> logits[3];
  hstuAnswer answers[3] = {answer_, answer_, answer_};
  for (int i = 0; i < 3; ++i) {
    logits[i] = logits_;
    answers[i].logits = logits[i].data();
  }
  const char* unknown[3] = {"user_id", "shoe_size", "register_days"};
  requests[1].contextualNames = unknown;

  EXPECT_EQ(hstuRank(model_, requests, 3, answers), HSTU_BAD_REQUEST);
  EXPECT_THAT(hstuLastError(), testing::AllOf(testing::StartsWith("request 1: "),
                                              testing::HasSubstr("user_active_degree")));
  EXPECT_EQ(answers[0].error, HSTU_OK);
  EXPECT_EQ(answers[1].error, HSTU_BAD_REQUEST);
  EXPECT_STRNE(answers[1].errorMessage, "");
  EXPECT_EQ(answers[2].error, HSTU_OK);
  EXPECT_THAT(logits[0], testing::Not(testing::Contains(kUntouched)));
  EXPECT_THAT(logits[1], testing::Each(kUntouched));
  EXPECT_EQ(logits[0], logits[2]);
}

TEST_F(CApi, GivesTheEnginesErrorsTheirCodes) {
  items_[1] = int64_t{1} << 50;
  ExpectRefused(HSTU_ID_OUT_OF_RANGE, "1125899906842624");
  items_[1] = 9;
  request_.numActions = 1;
  ExpectRefused(HSTU_BAD_REQUEST, "action");
  request_.numActions = 2;
  request_.hasHistoryStart = 1;
  request_.historyStart = 4;
  ExpectRefused(HSTU_HISTORY_NOT_CACHED, "4");
}

TEST_F(CApi, ComputesAHistoryWithoutCandidates) {
  request_.numCandidates = 0;
  request_.candidates = nullptr;
  answer_.logits = nullptr;
  answer_.logitsCapacity = 0;
  EXPECT_EQ(RankOne(), HSTU_OK) << hstuLastError();
  EXPECT_EQ(answer_.historyItems, 2);
}

TEST_F(CApi, KeepsErrorsPerThread) {
  EXPECT_EQ(hstuNumTasks(nullptr, nullptr), HSTU_BAD_ARGUMENT);
  const std::string mine = hstuLastError();
  std::thread other([] {
    EXPECT_STREQ(hstuLastError(), "");
    EXPECT_EQ(hstuLoadModel(nullptr, nullptr, nullptr), HSTU_BAD_ARGUMENT);
  });
  other.join();
  EXPECT_EQ(hstuLastError(), mine);
}

TEST_F(CApi, AnswersManyThreadsAlike) {
  ASSERT_EQ(RankOne(), HSTU_OK);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      std::vector<float> logits(logits_.size());
      hstuAnswer answer = answer_;
      answer.logits = logits.data();
      for (int round = 0; round < 5; ++round) {
        ASSERT_EQ(hstuRank(model_, &request_, 1, &answer), HSTU_OK);
        ASSERT_EQ(logits, logits_);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Merges `sp` parts of `rows` rows in a workspace of odd alignment.
TEST(CApiAttentionUpdate, MergesInTwoPhases) {
  for (const int64_t rows : {3, 5000}) {  // 5000: by several threads
    const int64_t sp = 4;
    const int64_t dim = 20;
    std::vector<float> lse(sp * rows, 0.0f);
    std::vector<float> parts(sp * rows * dim);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = static_cast<float>(i % 97);
    std::vector<float> out(rows * dim);
    std::vector<float> merged(rows);
    const hstuTensor lse_tensor{lse.data(), HSTU_F32, 2, {sp, rows}, {rows, 1}};
    const hstuTensor parts_tensor{parts.data(), HSTU_F32, 3, {sp, rows, dim}, {rows * dim, dim, 1}};
    const hstuTensor out_tensor{out.data(), HSTU_F32, 2, {rows, dim}, {dim, 1}};
    const hstuTensor merged_tensor{merged.data(), HSTU_F32, 1, {rows}, {1}};
    uint64_t bytes = 0;
    hstuExecutor* executor = nullptr;
    ASSERT_EQ(hstuAttentionUpdateGetWorkspaceSize(&lse_tensor, &parts_tensor, 1, &out_tensor,
                                                  &merged_tensor, &bytes, &executor),
              HSTU_OK)
        << hstuLastError();
    std::vector<char> workspace(bytes + 1);
    ASSERT_EQ(hstuAttentionUpdate(workspace.data() + 1, bytes, executor), HSTU_OK);
    for (int64_t row = 0; row < rows; ++row) {
      ASSERT_NEAR(merged[row], std::log(4.0f), 1e-6);
      for (int64_t c = 0; c < dim; ++c) {
        float mean = 0.0f;
        for (int64_t i = 0; i < sp; ++i) mean += parts[(i * rows + row) * dim + c] / 4.0f;
        ASSERT_NEAR(out[row * dim + c], mean, 1e-4);
      }
    }
  }
}

TEST(CApiAttentionUpdate, SaysWhatIsWrong) {
  float data[6] = {};
  const hstuTensor lse{data, HSTU_F32, 2, {2, 3}, {3, 1}};
  const hstuTensor parts{data, HSTU_F32, 3, {2, 3, 1}, {3, 1, 1}};
  const hstuTensor out{data, HSTU_F32, 2, {3, 1}, {1, 1}};
  uint64_t bytes = 0;
  hstuExecutor* executor = nullptr;
  const auto check = [&](const hstuTensor* a, const hstuTensor* b, int64_t type) {
    return hstuAttentionUpdateGetWorkspaceSize(a, b, type, &out, nullptr, &bytes, &executor);
  };
  EXPECT_EQ(check(&lse, &parts, 1), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("lseOut is NULL"));
  EXPECT_EQ(check(nullptr, &parts, 0), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("lse is NULL"));
  hstuTensor odd = lse;
  odd.dtype = 7;
  EXPECT_EQ(check(&odd, &parts, 0), HSTU_BAD_ARGUMENT);
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("dtype 7"));
  odd = lse;
  odd.rank = 9;
  EXPECT_EQ(check(&odd, &parts, 0), HSTU_BAD_ARGUMENT);
  ASSERT_EQ(check(&lse, &parts, 0), HSTU_OK) << hstuLastError();
  EXPECT_EQ(hstuAttentionUpdate(data, 4, executor), HSTU_BAD_ARGUMENT);  // and frees it
  EXPECT_THAT(hstuLastError(), testing::HasSubstr("bytes are needed"));
  ASSERT_EQ(check(&lse, &parts, 0), HSTU_OK);
  hstuDestroyExecutor(executor);
  hstuDestroyExecutor(nullptr);
}

}  // namespace
}  // namespace hstu
