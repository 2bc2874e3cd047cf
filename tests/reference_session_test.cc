// The reference of streams, against the golden ones.
#include "accept/reference_session.h"

#include <map>

#include "base/thread_pool.h"
#include "model/model.h"
#include "model/model_operators.h"
#include "tests/golden.h"

namespace hstu {
namespace {

class ReferenceSessionTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Streams, ReferenceSessionTest,
                         testing::Values("stream", "stream_evict", "stream_softmax",
                                         "stream_hierarchical"),
                         GoldenTestName);

TEST_P(ReferenceSessionTest, GivesTheLogitsOfTheGoldenStream) {
  const GoldenCase golden = LoadGolden(GetParam());
  const Result<Model> model = Model::Load(golden.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ThreadPool pool(2);
  const ModelOperators operators;
  std::map<std::string, ReferenceSession> sessions;
  int64_t evicted = 0;
  for (size_t i = 0; i < golden.requests.size(); ++i) {
    auto& session =
        sessions.try_emplace(*golden.requests[i].user_id, model.value(), operators, 32, &pool)
            .first->second;
    const Result<std::vector<double>> logits = session.Rank(golden.requests[i]);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    ASSERT_EQ(logits->size(), golden.logits[i].size());
    for (size_t j = 0; j < logits->size(); ++j) {
      EXPECT_NEAR(logits.value()[j], golden.logits[i][j], 1e-6) << i << ", " << j;
    }
    evicted += session.evicted_tokens();
  }
  EXPECT_EQ(evicted > 0, GetParam() != "stream");
}

}  // namespace
}  // namespace hstu
