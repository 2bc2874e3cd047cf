#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/test_files.h"
#include "cli/testing.h"

namespace hstu {
namespace {

using testing::HasSubstr;

const std::string kGolden = HSTU_GOLDEN_DIR;

TEST(PreprocessCommand, WritesTheGoldenFilesOfADataset) {
  TestFolder folder;
  const Outcome outcome =
      RunHstu({"preprocess", "--dataset", "kuairand-1k", "--data-dir",
               kGolden + "/preprocess_kuairand/raw", "--out-dir", folder.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("processed_batches.csv: 2275 rows"));
  for (const char* file :
       {"processed_seqs.csv", "processed_seqs_inference.csv", "processed_batches.csv"}) {
    EXPECT_EQ(ReadWholeFile(folder / file),
              ReadWholeFile(kGolden + "/preprocess_kuairand/expected/" + file));
  }
}

TEST(PreprocessCommand, CompatOrdersMovieLensItemsAsRecsysExamplesDoes) {
  TestFolder folder;
  const std::string raw = kGolden + "/preprocess_ml-1m/raw";
  const std::string expected = kGolden + "/preprocess_ml-1m/expected/processed_seqs_inference.csv";
  std::vector<std::string> arguments = {"preprocess", "--dataset", "ml-1m",       "--data-dir",
                                        raw,          "--out-dir", folder.path(), "--inference"};
  ASSERT_EQ(RunHstu(arguments).status, 0);
  EXPECT_NE(ReadWholeFile(folder / "processed_seqs_inference.csv"), ReadWholeFile(expected));
  EXPECT_FALSE(std::filesystem::exists(folder / "processed_seqs.csv"));
  arguments.insert(arguments.end(), {"--compat", "recsys-examples"});
  ASSERT_EQ(RunHstu(arguments).status, 0);
  EXPECT_EQ(ReadWholeFile(folder / "processed_seqs_inference.csv"), ReadWholeFile(expected));
}

TEST(PreprocessCommand, ExitsWithTwoAndOneLineForWhatCantBeRead) {
  TestFolder folder;
  const std::string log = folder.Write("log.csv", "user_id,video_id\n1,2\n");
  const Outcome missing = RunHstu({"preprocess", "--dataset", "kuairand", "--log", log});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("log.csv:1: there is no column date"));
  EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1);
  EXPECT_EQ(RunHstu({"preprocess", "--dataset", "kuairand"}).status, 2);
  EXPECT_EQ(RunHstu({"preprocess", "--dataset", "other", "--log", log}).status, 2);
  EXPECT_THAT(RunHstu({"preprocess", "--dataset", "ml-1m", "--log", log}).err,
              HasSubstr("go with --dataset kuairand"));
}

}  // namespace
}  // namespace hstu
