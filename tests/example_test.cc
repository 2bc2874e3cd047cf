// The shipped examples: the engine agrees with torch, which trained the model, on logits and AUC.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/testing.h"

namespace hstu {
namespace {

const std::string kExamples = std::string(HSTU_SOURCE_DIR) + "/examples/";
const std::string kExample = kExamples + "kuairand";

// Models of the KuaiRand sample: the flat one and the hierarchical one.
class Example : public testing::TestWithParam<std::string> {};
const auto kModels = testing::Values("kuairand", "kuairand-hierarchical");
std::string ModelName(const testing::TestParamInfo<std::string>& info) {
  return info.param == "kuairand" ? "flat" : "hierarchical";
}
INSTANTIATE_TEST_SUITE_P(Models, Example, kModels, ModelName);

std::vector<nlohmann::json> JsonLines(std::istream& lines) {
  std::vector<nlohmann::json> all;
  std::string line;
  while (std::getline(lines, line)) all.push_back(nlohmann::json::parse(line));
  return all;
}

TEST_P(Example, LogitsAreTorchs) {
  for (const char* cache : {"--no-kv-cache", "--kv-cache"}) {
    const Outcome outcome = RunHstu({"rank", "--model", kExamples + GetParam() + "/model",
                                     "--requests", kExample + "/requests.jsonl", cache});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::istringstream out(outcome.out);
    std::ifstream expected_file(kExamples + GetParam() + "/expected.jsonl");
    const std::vector<nlohmann::json> actual = JsonLines(out);
    const std::vector<nlohmann::json> expected = JsonLines(expected_file);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].at("user_id"), expected[i].at("user_id"));
      const auto logits = actual[i].at("logits").get<std::vector<std::vector<float>>>();
      const auto torchs = expected[i].at("logits").get<std::vector<std::vector<float>>>();
      ASSERT_EQ(logits.size(), torchs.size());
      for (size_t c = 0; c < logits.size(); ++c) {
        for (size_t t = 0; t < logits[c].size(); ++t) {
          ASSERT_NEAR(logits[c][t], torchs[c][t], 1e-4);
        }
      }
    }
  }
}

// The preprocessed sample.
class ExampleData : public Example {
 protected:
  ExampleData() : folder_(std::filesystem::temp_directory_path() / "hstu_example_test") {
    std::filesystem::create_directories(folder_);
    const Outcome preprocessed =
        RunHstu({"preprocess", "--dataset", "kuairand", "--training", "--log",
                 kExample + "/data/log_standard_4_08_to_4_21_sample.csv", "--out-dir", folder_});
    EXPECT_EQ(preprocessed.status, 0) << preprocessed.err;
  }
  ~ExampleData() override { std::filesystem::remove_all(folder_); }

  // The tasks' results.
  nlohmann::json Evaluate(const std::vector<std::string>& options) {
    const std::string file = folder_ / "eval.json";
    std::vector<std::string> command{
        "eval", "--model", kExamples + GetParam() + "/model", "--data", folder_, "--json", file};
    command.insert(command.end(), options.begin(), options.end());
    const Outcome outcome = RunHstu(command);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::ifstream actual(file);
    return nlohmann::json::parse(actual).at("tasks");
  }

 private:
  std::filesystem::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Models, ExampleData, kModels, ModelName);

TEST_P(ExampleData, AucsAreTorchs) {
  std::ifstream expected_file(kExamples + GetParam() + "/expected_auc.json");
  const nlohmann::json actual = Evaluate({});
  const auto expected = nlohmann::json::parse(expected_file).at("tasks");
  ASSERT_EQ(actual.size(), 8u);
  for (size_t t = 0; t < 8; ++t) {
    EXPECT_EQ(actual[t].at("positives"), expected[t].at("positives"));
    EXPECT_NEAR(actual[t].at("auc").get<double>(), expected[t].at("model").get<double>(), 1e-4);
    EXPECT_NEAR(actual[t].at("popularity_auc").get<double>(),
                expected[t].at("popularity").get<double>(), 1e-4);
    EXPECT_NEAR(actual[t].at("last_action_auc").get<double>(),
                expected[t].at("last_action").get<double>(), 1e-4);
  }
}

// bf16 activations move an AUC of at least 50 positives by at most 0.001, int8 K and V by 0.002.
TEST_P(ExampleData, SmallerTypesMoveAucsLittle) {
  const nlohmann::json f32 = Evaluate({});
  const std::vector<std::string> off{"--dtype", "bf16", "--bf16-products", "off"};
  // Those of AVX-512-BF16 and AMX-BF16, emulated.
  const std::vector<std::string> pairs{"--dtype", "bf16",  "--bf16-products",
                                       "pairs",   "--isa", "avx2"};
  std::vector<std::string> tiles = pairs;
  tiles[3] = "tiles";
  const std::pair<std::vector<std::string>, double> types[] = {{off, 0.001},
                                                               {pairs, 0.001},
                                                               {tiles, 0.001},
                                                               {{"--kv-dtype", "f16"}, 0.001},
                                                               {{"--kv-dtype", "int8"}, 0.002}};
  for (const auto& [options, most] : types) {
    const nlohmann::json actual = Evaluate(options);
    for (size_t t = 0; t < f32.size(); ++t) {
      if (f32[t].at("positives").get<int>() < 50) continue;
      EXPECT_NEAR(actual[t].at("auc").get<double>(), f32[t].at("auc").get<double>(), most)
          << options[1] << ", task " << t;
    }
  }
}

}  // namespace
}  // namespace hstu
