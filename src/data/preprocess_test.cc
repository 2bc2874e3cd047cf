#include "data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/test_files.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kFiles[] = {"processed_seqs.csv", "processed_seqs_inference.csv",
                                  "processed_batches.csv"};

struct GoldenCase {
  const char* name;
  RawDataset dataset;
};

class PreprocessGolden : public testing::TestWithParam<GoldenCase> {
 protected:
  fs::path Case() const { return fs::path(HSTU_GOLDEN_DIR) / GetParam().name; }
  PreprocessOptions Options() const {
    PreprocessOptions options;
    options.dataset = GetParam().dataset;
    options.data_dir = Case() / "raw";
    options.out_dir = folder_.path();
    options.order_by_item = true;
    return options;
  }
  void ExpectGoldenFiles() const {
    for (const char* file : kFiles) {
      EXPECT_EQ(ReadWholeFile(folder_ / file), ReadWholeFile(Case() / "expected" / file)) << file;
    }
  }
  TestFolder folder_;
};

TEST_P(PreprocessGolden, GivesTheSameBytes) {
  auto report = Preprocess(Options());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->files.size(), 3u);
  ExpectGoldenFiles();
  EXPECT_EQ(folder_.CountFiles(), 3);
}

TEST_P(PreprocessGolden, GivesTheSameBytesWhenRunsAreSpilled) {
  PreprocessOptions options = Options();
  options.threads = 1;
  options.limits.run_rows = 100;
  options.limits.resident_rows = 150;
  auto report = Preprocess(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ExpectGoldenFiles();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PreprocessGolden,
    testing::Values(GoldenCase{"preprocess_kuairand", RawDataset::kKuaiRand1K},
                    GoldenCase{"preprocess_kuairand_27k", RawDataset::kKuaiRand27K},
                    GoldenCase{"preprocess_ml-1m", RawDataset::kMovieLens1M},
                    GoldenCase{"preprocess_ml-20m", RawDataset::kMovieLens20M}),
    [](const auto& info) {
      std::string name = info.param.name + std::string("preprocess_").size();
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

constexpr const char* kHeader =
    "user_id,video_id,date,time_ms,is_click,is_like,is_follow,is_comment,is_forward,is_hate,"
    "long_view,play_time_ms,duration_ms,is_profile_enter\n";

class PreprocessTest : public testing::Test {
 protected:
  PreprocessTest() { options_.out_dir = folder_ / "out"; }

  void AddLog(const std::string& name, const std::string& lines) {
    options_.logs.push_back(folder_.Write(name, kHeader + lines));
  }
  std::string Run() {
    auto report = Preprocess(options_);
    return report.ok() ? "" : report.error().message;
  }
  std::string Out(const char* file) {
    return ReadWholeFile(folder_ / "out" + ("/" + std::string(file)));
  }

  TestFolder folder_;
  PreprocessOptions options_;
};

TEST_F(PreprocessTest, WithoutUserFeaturesAllUsersStayAndNoColumnsAreAdded) {
  AddLog("log.csv",
         "2,20,20220408,5000,1,0,0,0,0,0,0,7,8,0\n"
         "1,11,20220409,90000,0,1,0,0,0,0,0,7,8,0\n"
         "1,10,20220408,30000,1,0,0,0,0,0,0,7,8,0\n");
  ASSERT_EQ(Run(), "");
  EXPECT_EQ(Out("processed_seqs.csv"),
            "user_id,video_id,time_ms,action_weights,play_time_ms,duration_ms\n"
            "1,\"[10, 11]\",\"[30000, 90000]\",\"[1, 2]\",\"[7, 7]\",\"[8, 8]\"\n"
            "2,[20],[5000],[1],[7],[8]\n");
  EXPECT_EQ(Out("processed_batches.csv"),
            "user_id,date,interval_end_ts,interval_indptr\n"
            "1,20220408,30000,1\n1,20220409,90000,1\n2,20220408,5000,1\n");
}

TEST_F(PreprocessTest, OfSeveralLogsTrainingKeepsCommonUsersAndInferenceStartsWithThoseOfTheFirst) {
  AddLog("a.csv", "5,1,20220408,100,1,0,0,0,0,0,0,7,8,0\n9,2,20220408,100,1,0,0,0,0,0,0,7,8,0\n");
  AddLog("b.csv",
         "3,3,20220409,50,1,0,0,0,0,0,0,7,8,0\n5,4,20220408,50,1,0,0,0,0,0,0,7,8,0\n"
         "5,5,20220407,100,1,0,0,0,0,0,0,7,8,0\n");
  ASSERT_EQ(Run(), "");
  EXPECT_EQ(Out("processed_seqs.csv"),
            "user_id,video_id,time_ms,action_weights,play_time_ms,duration_ms\n"
            "5,\"[4, 1, 5]\",\"[50, 100, 100]\",\"[1, 1, 1]\",\"[7, 7, 7]\",\"[8, 8, 8]\"\n");
  EXPECT_EQ(Out("processed_batches.csv"),
            "user_id,date,interval_end_ts,interval_indptr\n"
            "5,20220408,100,1\n9,20220408,100,1\n"
            "3,20220409,50,1\n5,20220407,100,1\n5,20220408,50,1\n");
  std::string sequences = Out("processed_seqs_inference.csv");
  std::vector<std::string> keys;
  std::stringstream lines(sequences);
  for (std::string line; std::getline(lines, line);) keys.push_back(line.substr(0, 14));
  EXPECT_THAT(keys, testing::ElementsAre("user_id,date,v", "5,20220408,[1]", "5,20220407,[5]",
                                         "5,20220408,[4]", "9,20220408,[2]", "3,20220409,[3]"));
}

TEST_F(PreprocessTest, AUserFeatureIsJoinedNumberedAndWrittenAsPandasDoes) {
  AddLog("log.csv",
         "2,20,20220408,5000,1,0,0,0,0,0,0,7,8,0\n"
         "1,10,20220408,5000,1,0,0,0,0,0,0,7,8,0\n"
         "3,10,20220408,5000,1,0,0,0,0,0,0,7,8,0\n");
  options_.user_features = folder_.Write("users.csv",
                                         "name,user_active_degree,user_id,gaps\r\n"
                                         "\"a,b\",full,9,1\r\n"
                                         "c,high,2,\r\n"
                                         "d,full,1,12\r\n");
  ASSERT_EQ(Run(), "");
  EXPECT_EQ(Out("processed_seqs.csv"),
            "user_id,video_id,time_ms,action_weights,play_time_ms,duration_ms,name,"
            "user_active_degree,gaps\n"
            "1,[10],[5000],[1],[7],[8],d,1,12.0\n"
            "2,[20],[5000],[1],[7],[8],c,2,\n");
  EXPECT_THAT(Out("processed_batches.csv"), HasSubstr("3,20220408,5000,1\n"));
}

TEST_F(PreprocessTest, AnIntervalBeginsOnceTheLimitIsReached) {
  AddLog("log.csv",
         "1,1,20220408,0,1,0,0,0,0,0,0,7,8,0\n"
         "1,2,20220408,59999,1,0,0,0,0,0,0,7,8,0\n"
         "1,3,20220408,60000,1,0,0,0,0,0,0,7,8,0\n"
         "1,4,20220408,119999,1,0,0,0,0,0,0,7,8,0\n");
  options_.training = false;
  ASSERT_EQ(Run(), "");
  EXPECT_EQ(
      Out("processed_batches.csv"),
      "user_id,date,interval_end_ts,interval_indptr\n1,20220408,59999,2\n1,20220408,119999,4\n");
  EXPECT_FALSE(fs::exists(folder_ / "out/processed_seqs.csv"));
}

TEST_F(PreprocessTest, MovieLensInferenceFilesAreOrderedByTime) {
  folder_.Write("ratings.csv",
                "userId,movieId,rating,timestamp\n1,30,4,100\n1,10,3.5,200\n1,20,0.5,300\n");
  options_.dataset = RawDataset::kMovieLens20M;
  options_.data_dir = folder_.path();
  ASSERT_EQ(Run(), "");
  EXPECT_EQ(Out("processed_seqs_inference.csv"),
            "user_id,movie_id,unix_timestamp,rating,interval_indptr,num_intervals\n"
            "1,\"[30, 10, 20]\",\"[100, 200, 300]\",\"[7, 6, 0]\",\"[0, 1, 2, 3]\",3\n");
  EXPECT_EQ(Out("processed_batches.csv"),
            "user_id,interval_end_ts,interval_indptr\n1,100,1\n1,200,2\n1,300,3\n");
}

TEST_F(PreprocessTest, AnErrorNamesFileAndLineAndLeavesOldOutputsAlone) {
  AddLog("log.csv", "1,1,20220408,0,1,0,0,0,0,0,0,7,8,0\n1,1,20220408,0,1,0,0\n");
  fs::create_directories(options_.out_dir);
  folder_.Write("out/processed_seqs.csv", "old");
  EXPECT_THAT(Run(), HasSubstr("log.csv:3: the line has 7 of 14 fields"));
  EXPECT_EQ(Out("processed_seqs.csv"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(options_.out_dir), fs::directory_iterator()), 1);
}

TEST_F(PreprocessTest, RefusesEmptyFilesAndFeaturesThatCantBeJoined) {
  AddLog("log.csv", "1,1,20220408,0,1,0,0,0,0,0,0,7,8,0\n");
  options_.user_features = folder_.Write("users.csv", "user_id,a\n1,2\n1,3\n");
  EXPECT_THAT(Run(), HasSubstr("users.csv:3: user 1 has features already"));
  options_.user_features = folder_.Write("users.csv", "id,a\n1,2\n");
  EXPECT_THAT(Run(), HasSubstr("there is no column user_id"));
  options_.user_features = folder_.Write("users.csv", "user_id,a\n1\n");
  EXPECT_THAT(Run(), HasSubstr("users.csv:2: the line has 1 of 2 fields"));
  options_.user_features = folder_.Write("users.csv", "");
  EXPECT_THAT(Run(), HasSubstr("users.csv holds no users"));
  options_.user_features.reset();
  AddLog("empty.csv", "");
  EXPECT_THAT(Run(), HasSubstr("empty.csv:1: the log holds no interactions"));
}

TEST(FindRawFiles, LooksWhereTheArchiveUnpacksToAndAtTheFilesThemselves) {
  TestFolder folder;
  fs::create_directories(folder / "KuaiRand-1K/data");
  for (const char* name : {"log_standard_4_08_to_4_21_1k.csv",
                           "log_standard_4_22_to_5_08_1k.csv.gz", "user_features_1k.csv.zst"}) {
    folder.Write(std::string("KuaiRand-1K/data/") + name, "");
  }
  for (const char* from : {"", "KuaiRand-1K", "KuaiRand-1K/data"}) {
    auto files = FindRawFiles(RawDataset::kKuaiRand1K, folder / from);
    ASSERT_TRUE(files.ok()) << files.error().message;
    EXPECT_THAT(files->logs[1], testing::EndsWith("log_standard_4_22_to_5_08_1k.csv.gz"));
    EXPECT_THAT(*files->user_features, testing::EndsWith("user_features_1k.csv.zst"));
  }
  auto missing = FindRawFiles(RawDataset::kKuaiRand27K, folder.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("log_standard_4_08_to_4_21_27k_part1.csv"));
}

TEST(FindRawFiles, TakesAnyLogsForPlainKuaiRand) {
  TestFolder folder;
  folder.Write("log_standard_b.csv", "");
  folder.Write("log_standard_a.csv.gz", "");
  folder.Write("log_random_a.csv", "");
  folder.Write("processed_seqs.csv", "");
  auto files = FindRawFiles(RawDataset::kKuaiRand, folder.path());
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(files->logs, testing::ElementsAre(testing::EndsWith("log_standard_a.csv.gz"),
                                                testing::EndsWith("log_standard_b.csv")));
  EXPECT_FALSE(files->user_features.has_value());
}

}  // namespace
}  // namespace hstu
