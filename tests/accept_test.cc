// Acceptance: good artifacts pass, and each limit breaks where something is broken on purpose.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/sha256.h"
#include "base/test_files.h"
#include "cli/testing.h"
#include "tests/artifacts.h"
#include "tests/golden.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Times of tiny steps on a machine that does other things say nothing; nor does a sanitizer's
// memory.
const char* const kNoTimes =
    R"({"cold_start": null, "steady_step": null, "bucket_switch": null, "peak_memory": null})";

class AcceptTest : public testing::Test {
 protected:
  void SetUp() override {
    golden_ = LoadGolden("stream_evict");
    CompileInto(SmallBuckets(golden_.model, "accept"), folder_.path());
    requests_ = folder_.Write("requests.jsonl", RequestOf(4));
  }

  // A line with a history of so many items.
  static std::string RequestOf(int items) {
    std::vector<int> ids(static_cast<size_t>(items), 5);
    std::iota(ids.begin(), ids.end(), 5);
    const json request{
        {"contextual", {{"user_id", 18}, {"user_active_degree", 2}, {"register_days", 1}}},
        {"history", {{"items", ids}, {"actions", ids}}},
        {"candidates", {4, 7}}};
    return request.dump() + "\n";
  }

  Outcome Accept(const std::string& limits, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "accept",      "--model",          golden_.model,
        "--artifacts", folder_.path(),     "--requests",
        requests_,     "--limits",         folder_.Write("limits.json", limits),
        "--out",       folder_ / "report", "--hstu",
        HSTU_BINARY,   "--threads",        "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunHstu(arguments);
  }

  json Report() { return json::parse(ReadWholeFile(folder_ / "report/report.json")); }

  // The metrics that are not passed.
  std::vector<std::string> Broken() {
    std::vector<std::string> names;
    const json report = Report();
    for (const json& metric : report["metrics"]) {
      if (!metric["passed"].get<bool>()) names.push_back(metric["name"]);
    }
    return names;
  }

  // All libraries with this fault, as if the compiler had made them so.
  void Break(const std::string& fault) {
    json metadata = json::parse(ReadWholeFile(folder_ / "metadata.json"));
    for (json& bucket : metadata["buckets"]) {
      const std::string library = bucket["library"];
      fs::rename(folder_ / library, folder_ / ("whole_" + library));
      const std::string command = "g++ -std=c++20 -O1 -shared -fPIC -I" HSTU_SOURCE_DIR
                                  "/src -I" HSTU_SOURCE_DIR "/include -DFAULT='\"" +
                                  fault + "\"' -o " + folder_ / library +
                                  " " HSTU_SOURCE_DIR "/tests/broken_bucket.cc " HSTU_SOURCE_DIR
                                  "/src/tensor/dtype.cc";
      ASSERT_EQ(std::system(command.c_str()), 0);
      bucket["sha256"] = Sha256(ReadWholeFile(folder_ / library));
    }
    folder_.Write("metadata.json", metadata.dump());
  }

  GoldenCase golden_;
  TestFolder folder_;
  std::string requests_;
};

TEST_F(AcceptTest, GoodArtifactsPassAndTheReportsSaySo) {
  const Outcome outcome = Accept(kNoTimes);
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json report = Report();
  EXPECT_TRUE(report["passed"]);
  std::vector<std::string> names;
  for (const json& metric : report["metrics"]) names.push_back(metric["name"]);
  EXPECT_THAT(names, ElementsAre("fallback_kernels", "artifact_hits", "consistency", "eviction",
                                 "cold_start", "peak_memory", "steady_step", "bucket_switch"));
  EXPECT_THAT(ReadWholeFile(folder_ / "report/report.html"), HasSubstr("Accepted"));
  EXPECT_THAT(ReadWholeFile(folder_ / "report/junit.xml"), HasSubstr("failures=\"0\""));
}

TEST_F(AcceptTest, AWrongOffsetBreaksConsistency) {
  Break("offset");
  EXPECT_EQ(Accept(kNoTimes).status, 1);
  EXPECT_THAT(Broken(), ElementsAre("consistency", "eviction"));
  EXPECT_THAT(ReadWholeFile(folder_ / "report/report.html"), HasSubstr("Not accepted"));
  EXPECT_THAT(ReadWholeFile(folder_ / "report/junit.xml"), HasSubstr("<failure"));
}

TEST_F(AcceptTest, SumsOfBf16BreakConsistency) {
  Break("bf16");
  EXPECT_EQ(Accept(kNoTimes).status, 1);
  EXPECT_THAT(Broken(), testing::Contains("consistency"));
}

TEST_F(AcceptTest, WrongAnswersAfterEvictionsBreakEvictionAlone) {
  Break("eviction");
  EXPECT_EQ(Accept(kNoTimes).status, 1);
  EXPECT_THAT(Broken(), ElementsAre("eviction"));
}

TEST_F(AcceptTest, ASlowKernelBreaksTheSteadyStep) {
  Break("slow");
  EXPECT_EQ(Accept(R"({"cold_start": null, "bucket_switch": null, "peak_memory": null})").status,
            1);
  EXPECT_THAT(Broken(), ElementsAre("steady_step"));
}

TEST_F(AcceptTest, ASlowSwitchBreaksTheBucketSwitch) {
  Break("switch");
  EXPECT_EQ(Accept(R"({"cold_start": null, "steady_step": null, "peak_memory": null})").status, 1);
  EXPECT_THAT(Broken(), ElementsAre("bucket_switch"));
}

TEST_F(AcceptTest, ASlowStartBreaksTheColdStart) {
  Break("start");
  EXPECT_EQ(Accept(R"({"steady_step": null, "bucket_switch": null, "peak_memory": null})").status,
            1);
  EXPECT_THAT(Broken(), ElementsAre("cold_start"));
}

TEST_F(AcceptTest, TooMuchMemoryBreaksTheBudget) {
  Break("memory");
  EXPECT_EQ(Accept(R"({"cold_start": null, "steady_step": null, "bucket_switch": null,
                       "memory_budget": 400000000})")
                .status,
            1);
  EXPECT_THAT(Broken(), ElementsAre("peak_memory"));
}

TEST_F(AcceptTest, RequestsPastTheBucketsBreakTheHits) {
  folder_.Write("requests.jsonl", RequestOf(4) + RequestOf(60));
  EXPECT_EQ(Accept(kNoTimes).status, 1);
  EXPECT_THAT(Broken(), ElementsAre("artifact_hits"));
}

TEST_F(AcceptTest, FallbacksBreakTheirShare) {
  json metadata = json::parse(ReadWholeFile(folder_ / "metadata.json"));
  for (size_t i = 0; i < metadata["kernels"].size(); i += 10) {
    metadata["kernels"][i]["fallback"] = true;
    metadata["kernels"][i]["reason"] = "an operator of nobody";
  }
  folder_.Write("metadata.json", metadata.dump());
  EXPECT_EQ(Accept(kNoTimes).status, 1);
  EXPECT_THAT(Broken(), ElementsAre("fallback_kernels"));
  EXPECT_THAT(Report()["metrics"][0]["detail"], HasSubstr("an operator of nobody"));
}

TEST_F(AcceptTest, ACutFileIsReportedAndAnError) {
  const std::string library = folder_ / "bucket_40_1.so";
  folder_.Write("bucket_40_1.so", ReadWholeFile(library).substr(0, 1000));
  const Outcome outcome = Accept(kNoTimes);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("bucket_40_1.so"));
  EXPECT_FALSE(Report()["passed"]);
  EXPECT_THAT(Report()["metrics"][0]["detail"], HasSubstr("bucket_40_1.so"));
}

TEST_F(AcceptTest, ABaselineIsRecordedAndHeldAgainst) {
  const std::string baseline = folder_ / "baseline.json";
  ASSERT_EQ(Accept(kNoTimes, {"--record-baseline", baseline}).status, 0);
  EXPECT_GT(json::parse(ReadWholeFile(baseline))["steady_step_ratio"], 0.0);
  folder_.Write("baseline.json", R"({"steady_step_ratio": 0.001})");
  EXPECT_EQ(Accept(R"({"cold_start": null, "bucket_switch": null, "peak_memory": null})",
                   {"--baseline", baseline})
                .status,
            1);
  EXPECT_THAT(Broken(), ElementsAre("steady_step"));
}

}  // namespace
}  // namespace hstu
