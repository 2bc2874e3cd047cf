// The promise: in f32, for one ISA, an answer is the same bits for any batch, thread count and
// chunking. Every check is a memcmp.
#include <algorithm>
#include <cstring>
#include <random>

#include "base/cpu.h"
#include "tests/golden.h"

namespace hstu {
namespace {

class Bitwise : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Bitwise, testing::ValuesIn(GoldenNames()), GoldenTestName);

// Requests longer than the golden ones, so that several chunks of keys and blocks of rows exist.
std::vector<Request> LongRequests(const GoldenCase& golden, std::mt19937* random) {
  std::vector<Request> requests = golden.requests;
  for (const size_t items : {200, 431, 700}) {
    if (items > 200 && IsSlowBuild()) break;
    Request request = golden.requests.back();
    const auto repeat = [&](std::vector<int64_t>* ids, size_t size) {
      if (ids->empty()) return;
      const std::vector<int64_t> given = *ids;
      for (size_t i = given.size(); i < size; ++i) {
        ids->push_back(given[(*random)() % given.size()]);
      }
    };
    repeat(&request.items, items);
    repeat(&request.actions, items);
    repeat(&request.candidates, 60);
    requests.push_back(request);
  }
  return requests;
}

void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected,
                    const std::string& how) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(float)), 0) << how;
}

// One request at a time, one thread, no chunks: what all else is compared with.
std::vector<Answer> Alone(const std::string& model, const std::vector<Request>& requests,
                          EngineOptions options) {
  options.threads = 1;
  Engine engine = Load(model, options);
  std::vector<Answer> answers;
  for (const Request& request : requests) answers.push_back(engine.Rank({&request, 1})[0]);
  return answers;
}

// Random batches, orders, threads, chunks and steps, `rounds` times.
void ExpectNothingButTheRequestMatters(const GoldenCase& golden,
                                       const std::vector<Request>& requests,
                                       const EngineOptions& given, int rounds,
                                       std::mt19937* random) {
  std::vector<std::vector<Answer>> expected;  // of each page size: int8 pages depend on it
  for (const int page_size : {32, 64, 128}) {
    EngineOptions options = given;
    options.page_size = page_size;
    if (given.kv_dtype != "int8" && page_size > 32) continue;
    expected.push_back(Alone(golden.model, requests, options));
  }
  for (int round = 0; round < rounds; ++round) {
    EngineOptions options = given;
    options.threads = 1 + static_cast<int>((*random)() % 4);
    options.chunk_tokens = (*random)() % 3 == 0 ? 0 : 1 + (*random)() % 500;
    options.max_step_tokens = 1 + (*random)() % 3000;
    options.last_layer_all_rows = (*random)() % 4 == 0;
    const size_t page = (*random)() % 3;
    options.page_size = 32 << page;
    Engine engine = Load(golden.model, options);

    std::vector<size_t> order(requests.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), *random);
    std::vector<Request> batch;
    for (const size_t i : order) batch.push_back(requests[i]);
    const std::vector<Answer> answers = engine.Rank(batch);
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_FALSE(answers[i].error.has_value()) << answers[i].error->message;
      ExpectSameBits(answers[i].logits, expected[expected.size() > 1 ? page : 0][order[i]].logits,
                     "threads " + std::to_string(options.threads) + ", chunk " +
                         std::to_string(options.chunk_tokens) + ", step " +
                         std::to_string(options.max_step_tokens) + ", " + options.dtype +
                         ", K and V " + options.kv_dtype);
    }
  }
}

TEST_P(Bitwise, AnswersDependOnNothingButTheRequest) {
  const GoldenCase golden = LoadGolden(GetParam());
  std::mt19937 random(7);
  const std::vector<Request> requests = LongRequests(golden, &random);
  for (const Isa isa : SupportedIsas()) {
    EngineOptions options;
    options.isa = IsaName(isa);
    const int rounds = isa == Isa::kScalar ? std::max(1, Rounds(8) / 4) : Rounds(8);
    ExpectNothingButTheRequestMatters(golden, requests, options, rounds, &random);
  }
}

TEST_P(Bitwise, SoItIsInEveryTypeOfActivationsKeysAndValues) {
  const GoldenCase golden = LoadGolden(GetParam());
  std::mt19937 random(8);
  const std::vector<Request> requests = LongRequests(golden, &random);
  for (const DTypes& types : AllDTypes()) {
    EngineOptions options;
    types.Set(&options);
    ExpectNothingButTheRequestMatters(golden, requests, options, Rounds(3), &random);
  }
}

}  // namespace
}  // namespace hstu
