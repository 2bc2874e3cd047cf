#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/testing.h"

namespace hstu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

void ExpectOneLine(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, kExitUnreadable);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(testing::StartsWith("hstu: "), HasSubstr(part)));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(CommandLine, UsageErrorsAreOneLineAndStatus2) {
  ExpectOneLine(RunHstu({}), "subcommand is required");
  ExpectOneLine(RunHstu({"fly"}), "fly is no command");
  ExpectOneLine(RunHstu({"info"}), "--model is required");
  ExpectOneLine(RunHstu({"info", "--model", "x", "--bogus"}), "--bogus");
  ExpectOneLine(RunHstu({"init", "--config", "c", "--out", "o", "--dtype", "f64"}), "f64");
}

TEST(CommandLine, HelpAndVersionSucceed) {
  EXPECT_THAT(RunHstu({"--help"}).out, AllOf(HasSubstr("info"), HasSubstr("init")));
  EXPECT_EQ(RunHstu({"--help"}).status, kExitOk);
  EXPECT_THAT(RunHstu({"info", "--help"}).out, HasSubstr("--model"));
  EXPECT_EQ(RunHstu({"--version"}).status, kExitOk);
  EXPECT_EQ(RunHstu({"info", "--version"}).out, RunHstu({"--version"}).out);
}

TEST(CommandLine, AModelThatCannotBeLoadedIsOneLineAndStatus2) {
  ExpectOneLine(RunHstu({"info", "--model", "/no/such/folder"}), "/no/such/folder/config.json");
}

TEST(Info, TellsTheSameAsTextAndAsJson) {
  const char* model = HSTU_GOLDEN_DIR "/kuairand/model";
  const Outcome text = RunHstu({"info", "--model", model});
  EXPECT_EQ(text.status, kExitOk);
  const Outcome json = RunHstu({"info", "--model", model, "--json"});
  EXPECT_EQ(json.status, kExitOk);
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_THAT(text.out, AllOf(HasSubstr(parsed["fingerprint"].get<std::string>()),
                              HasSubstr("video_id"), HasSubstr("997 rows"), HasSubstr("flops")));

  const std::string file = testing::TempDir() + "info.json";
  EXPECT_EQ(RunHstu({"info", "--model", model, "--json", file}).out, text.out);
  std::ifstream in(file);
  EXPECT_EQ(nlohmann::json::parse(in), parsed);
}

TEST(Ops, ListsEveryOperatorAsTextAndAsJson) {
  const Outcome text = RunHstu({"ops"});
  EXPECT_EQ(text.status, kExitOk);
  const auto list = nlohmann::json::parse(RunHstu({"ops", "--json"}).out);
  EXPECT_GE(list.size(), 5u);
  for (const auto& entry : list) {
    EXPECT_THAT(text.out, AllOf(HasSubstr(entry["name"].get<std::string>() + ": "),
                                HasSubstr(entry["origin"].get<std::string>())));
    EXPECT_FALSE(entry["variants"].empty());
  }
}

TEST(Info, TellsBeforeTheFirstStepWhatAnEngineTakes) {
  const std::string model = HSTU_GOLDEN_DIR "/kuairand/model";
  const std::string requests = HSTU_GOLDEN_DIR "/kuairand/requests.jsonl";
  const std::vector<std::string> options = {"--model",           model, "--threads", "2",
                                            "--max-step-tokens", "512", "--json"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), options.begin(), options.end());
    return nlohmann::json::parse(RunHstu(arguments).out);
  };
  const auto engine = with({"info"})["engine"];
  EXPECT_GT(engine["arena_bytes"], 0);
  EXPECT_GT(engine["weight_bytes"], 0);
  EXPECT_EQ(engine["kv_cache_bytes"], 0);
  EXPECT_EQ(engine["bf16_products"], "off");
  EXPECT_EQ(engine["arena_bytes"],
            with({"bench", "--requests", requests, "--repeat", "1"})["arena_bytes"]);
  const auto pairs = with({"info", "--dtype", "bf16", "--bf16-products", "pairs", "--isa", "avx2"});
  EXPECT_EQ(pairs["engine"]["bf16_products"], "pairs");
  EXPECT_LT(pairs["engine"]["weight_bytes"], engine["weight_bytes"]);
  const Outcome refused = RunHstu({"info", "--model", model, "--bf16-products", "tiles"});
  EXPECT_NE(refused.status, kExitOk);
  EXPECT_THAT(refused.err, HasSubstr("needs dtype bf16"));
}

TEST(Init, MakesAModelThatInfoReads) {
  const std::string out = testing::TempDir() + "init_cli";
  fs::remove_all(out);
  const char* config = HSTU_GOLDEN_DIR "/kuairand/model/config.json";
  const Outcome made =
      RunHstu({"init", "--config", config, "--seed", "3", "--out", out, "--dtype-tables", "bf16"});
  EXPECT_EQ(made.status, kExitOk) << made.err;
  const Outcome info = RunHstu({"info", "--model", out, "--json"});
  const auto parsed = nlohmann::json::parse(info.out);
  EXPECT_EQ(parsed["tables"][0]["dtype"], "bf16");
  fs::remove_all(out);
}

TEST(Init, TakesVocabulariesAlong) {
  const std::string folder = testing::TempDir() + "init_vocabulary";
  fs::remove_all(folder);
  fs::create_directories(folder + "/from");
  std::ifstream in(HSTU_GOLDEN_DIR "/plain/model/config.json");
  auto config = nlohmann::json::parse(in);
  config["embedding_tables"][0]["vocabulary"] = "ids.txt";
  std::ofstream(folder + "/from/config.json") << config;
  const std::string file = folder + "/from/config.json";
  const std::string out = folder + "/out";
  ExpectOneLine(RunHstu({"init", "--config", file, "--out", out}), "ids.txt");
  std::ofstream(folder + "/from/ids.txt") << "5\n";
  EXPECT_EQ(RunHstu({"init", "--config", file, "--out", out}).status, kExitOk);
  EXPECT_EQ(RunHstu({"info", "--model", out}).status, kExitOk);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hstu
