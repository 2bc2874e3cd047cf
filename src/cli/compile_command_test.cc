#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/test_files.h"
#include "cli/testing.h"

namespace hstu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kExample = HSTU_SOURCE_DIR "/examples/kuairand";
const std::string kModel = kExample + "/model";
const std::string kRequests = kExample + "/requests.jsonl";
// Stays for the next run.
const std::string kArtifacts = HSTU_ARTIFACTS_DIR "/command";

Outcome Compile(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"compile", "--model", kModel, "--out", kArtifacts};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunHstu(arguments);
}

TEST(CompileCommand, MakesArtifactsWithWhichRankAnswersTheSame) {
  const Outcome made = Compile({"--from-requests", kRequests, "--batch", "1,8"});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto metadata = nlohmann::json::parse(ReadWholeFile(kArtifacts + "/metadata.json"));
  for (const char* key : {"version", "model_fingerprint", "abi", "compiler", "target", "dtype",
                          "buckets", "kernels"}) {
    EXPECT_TRUE(metadata.contains(key)) << key;
  }
  const auto& kernel = metadata["kernels"][0];
  EXPECT_EQ(kernel["op"], "embed_tokens");
  EXPECT_EQ(kernel["fallback"], false);
  EXPECT_TRUE(kernel["reason"].is_null());

  const Outcome plain = RunHstu({"rank", "--model", kModel, "--requests", kRequests});
  const Outcome compiled =
      RunHstu({"rank", "--model", kModel, "--requests", kRequests, "--artifacts", kArtifacts,
               "--warm-up", kRequests, "--preload", "adjacent"});
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(compiled.out, plain.out);
  EXPECT_EQ(compiled.err, "");

  TestFolder folder;
  const Outcome bench = RunHstu({"bench", "--model", kModel, "--requests", kRequests, "--repeat",
                                 "1", "--artifacts", kArtifacts, "--json", folder / "bench.json"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  const auto json = nlohmann::json::parse(ReadWholeFile(folder / "bench.json"));
  EXPECT_GT(json["artifacts"]["hits"].get<int>(), 0);
  EXPECT_THAT(bench.out, HasSubstr("artifacts "));
}

TEST(CompileCommand, ArtifactsThatAreNotThereAreAnErrorUnlessTheyAreOptional) {
  TestFolder folder;
  const std::vector<std::string> rank = {"rank",    "--model",     kModel,         "--requests",
                                         kRequests, "--artifacts", folder / "none"};
  const Outcome refused = RunHstu(rank);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, AllOf(StartsWith("hstu: "), HasSubstr("none/metadata.json"),
                                 HasSubstr("hstu compile --model")));
  std::vector<std::string> optional = rank;
  optional.push_back("--artifacts-optional");
  const Outcome warned = RunHstu(optional);
  EXPECT_EQ(warned.status, 0);
  EXPECT_THAT(warned.err, StartsWith("hstu: running without artifacts: "));
  EXPECT_THAT(warned.out, Not(testing::IsEmpty()));
}

TEST(CompileCommand, TooManyFallbacksAreStatus4AndListed) {
  TestFolder folder;
  const Outcome outcome = RunHstu({"compile", "--model", kModel, "--out", folder / "out",
                                   "--seq-len", "64", "--batch", "1", "--fallback-ops",
                                   "embed_tokens,layer_norm,in_linear_silu,reshape_and_cache,"
                                   "hstu_attention,norm_mul,linear_residual,linear"});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("are fallbacks"), HasSubstr("norm_mul: ")));
}

TEST(CompileCommand, SaysWhatToInstallWhereThereIsNoCompiler) {
  TestFolder folder;
  const char* before = std::getenv("CXX");
  const std::string saved = before == nullptr ? "" : before;
  setenv("CXX", "no-such-compiler", 1);
  const Outcome outcome =
      RunHstu({"compile", "--model", kModel, "--out", folder / "out", "--seq-len", "64"});
  if (before == nullptr) {
    unsetenv("CXX");
  } else {
    setenv("CXX", saved.c_str(), 1);
  }
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("no-such-compiler"), HasSubstr("libhwy-dev")));
}

TEST(CompileCommand, NeedsLengths) {
  TestFolder folder;
  const Outcome outcome = RunHstu({"compile", "--model", kModel, "--out", folder / "out"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--from-requests"));
}

TEST(ExplainCommand, ShowsGraphFusionsAndBreaks) {
  const Outcome text = RunHstu({"explain", "--model", kModel});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("graph breaks"), HasSubstr("layers.1.hstu_attention"),
                              HasSubstr("fallbacks: 0.0 %")));
  const Outcome json = RunHstu({"explain", "--model", kModel, "--json", "-"});
  EXPECT_TRUE(nlohmann::json::parse(json.out)["breaks"].is_array());
  const Outcome many = RunHstu({"explain", "--model", kModel, "--fallback-ops", "norm_mul"});
  EXPECT_EQ(many.status, 4);
}

}  // namespace
}  // namespace hstu
