#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/testing.h"

namespace hstu {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<json> Lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Golden(const std::string& name) { return std::string(HSTU_GOLDEN_DIR "/") + name; }

std::string WriteRequests(const std::string& text) {
  const std::string path = testing::TempDir() + "rank_requests.jsonl";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(Rank, AnswersGoldenRequestsInOrder) {
  const Outcome outcome = RunHstu({"rank", "--model", Golden("kuairand/model"), "--requests",
                                   Golden("kuairand/requests.jsonl"), "--max-step-tokens", "256"});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  const std::vector<json> answers = Lines(outcome.out);
  const std::vector<json> expected = Lines(ReadFile(Golden("kuairand/expected.jsonl")));
  const std::vector<json> requests = Lines(ReadFile(Golden("kuairand/requests.jsonl")));
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["user_id"], expected[i]["user_id"]);
    EXPECT_EQ(answers[i]["history_items"], requests[i]["history"]["items"].size());
    EXPECT_EQ(answers[i]["cached_tokens"], 0);
    ASSERT_EQ(answers[i]["logits"].size(), expected[i]["logits"].size());
    for (std::size_t row = 0; row < expected[i]["logits"].size(); ++row) {
      for (std::size_t task = 0; task < 8; ++task) {
        ASSERT_NEAR(answers[i]["logits"][row][task].get<double>(),
                    expected[i]["logits"][row][task].get<double>(), 2e-4);
      }
    }
  }
}

TEST(Rank, BadRequestsAreAnsweredInPlaceAndTheOthersToo) {
  const std::string good = R"({"user_id": 17, "history": {"items": [1, 2]}, "candidates": [3]})";
  const std::string file = WriteRequests(
      good + "\nno json\n" + R"({"user_id": 5, "history": {"items": []}, "candidates": [997]})" +
      "\n\n" + R"({"user_id": "x", "history": {"items": [1]}})" + "\n" + good);
  const Outcome outcome = RunHstu({"rank", "--model", Golden("plain/model"), "--requests", file});
  EXPECT_EQ(outcome.status, kExitBadRequests);
  EXPECT_EQ(outcome.err, "");
  const std::vector<json> answers = Lines(outcome.out);
  ASSERT_EQ(answers.size(), 6u);
  EXPECT_EQ(answers[0]["user_id"], 17);
  EXPECT_EQ(answers[0]["logits"], answers[5]["logits"]);
  EXPECT_TRUE(answers[1]["user_id"].is_null());
  EXPECT_EQ(answers[1]["error"]["code"], "bad_request");
  EXPECT_THAT(answers[1]["error"]["message"].get<std::string>(), HasSubstr("line 2"));
  EXPECT_EQ(answers[2]["user_id"], 5);
  EXPECT_EQ(answers[2]["error"]["code"], "id_out_of_range");
  EXPECT_THAT(answers[3]["error"]["message"].get<std::string>(), HasSubstr("line 4"));
  EXPECT_EQ(answers[4]["user_id"], "x");
  EXPECT_THAT(answers[4]["error"]["message"].get<std::string>(), HasSubstr("candidates"));
}

TEST(Rank, TopKAndProbabilitiesAddToTheAnswer) {
  const std::string file =
      WriteRequests(R"({"history": {"items": [1, 2]}, "candidates": [3, 900, 5]})");
  const std::vector<std::string> arguments = {"rank", "--model", Golden("plain/model"),
                                              "--requests", file};
  std::vector<std::string> more = arguments;
  more.insert(more.end(), {"--top-k", "2", "--probabilities"});
  const json plain = Lines(RunHstu(arguments).out)[0];
  const json answer = Lines(RunHstu(more).out)[0];
  EXPECT_EQ(answer["logits"], plain["logits"]);
  EXPECT_EQ(answer["top_k"].size(), 8u);
  EXPECT_EQ(answer["top_k"][0].size(), 2u);
  EXPECT_NEAR(answer["probabilities"][1][2].get<double>(),
              1 / (1 + std::exp(-plain["logits"][1][2].get<double>())), 1e-6);
  EXPECT_FALSE(plain.contains("top_k"));
  EXPECT_FALSE(plain.contains("probabilities"));
}

void ExpectOneLine(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome outcome = RunHstu(arguments);
  EXPECT_EQ(outcome.status, kExitUnreadable);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(part));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Rank, WhatCannotBeReadIsOneLineAndStatus2) {
  const std::string model = Golden("plain/model");
  const std::string file = WriteRequests("");
  ExpectOneLine({"rank", "--model", model, "--requests", "/no/such"}, "/no/such: opening it");
  ExpectOneLine({"rank", "--model", model, "--requests", testing::TempDir()}, "Is a directory");
  ExpectOneLine({"rank", "--model", "/no/such", "--requests", file}, "/no/such/config.json");
  ExpectOneLine({"rank", "--model", model, "--requests", file, "--dtype", "f16"}, "--dtype");
  ExpectOneLine({"rank", "--model", model, "--requests", file, "--page-size", "48"}, "48");
  ExpectOneLine({"rank", "--model", model, "--requests", file, "--isa", "z80"}, "z80");
  ExpectOneLine({"rank", "--model", model, "--requests", file, "--fused-ops", "warp"}, "warp");
  ExpectOneLine({"rank", "--model", model, "--requests", file, "--threads", "-1"}, "--threads");
}

TEST(Rank, NoRequestsAreNoAnswers) {
  const Outcome outcome =
      RunHstu({"rank", "--model", Golden("plain/model"), "--requests", WriteRequests("")});
  EXPECT_EQ(outcome.status, kExitOk);
  EXPECT_EQ(outcome.out, "");
}

// Two pipes in place of standard input and output.
class Pipes {
 public:
  Pipes() {
    int in[2], out[2];
    EXPECT_EQ(::pipe(in), 0);
    EXPECT_EQ(::pipe(out), 0);
    saved_in_ = ::dup(STDIN_FILENO);
    saved_out_ = ::dup(STDOUT_FILENO);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Pipes() {
    ::dup2(saved_in_, STDIN_FILENO);
    ::dup2(saved_out_, STDOUT_FILENO);
    ::close(saved_in_);
    ::close(saved_out_);
    ::close(from_);
  }
  void Send(const std::string& text) {
    EXPECT_EQ(::write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void CloseInput() { ::close(to_); }
  std::string ReceiveLine() {
    std::string line;
    for (char c; ::read(from_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

 private:
  int saved_in_, saved_out_, to_, from_;
};

TEST(Rank, APipeGetsEachAnswerBeforeItsNextRequest) {
  Pipes pipes;
  int status = -1;
  std::thread command([&] {
    const std::string model = Golden("plain/model");
    const char* argv[] = {"hstu", "rank", "--model", model.c_str(), "--requests", "-"};
    status = RunCommandLine(6, argv);
  });
  for (const int user : {1, 2, 3}) {
    pipes.Send("{\"user_id\": " + std::to_string(user) +
               R"(, "history": {"items": [1]}, "candidates": [3]})" + "\n");
    EXPECT_EQ(json::parse(pipes.ReceiveLine())["user_id"], user);
  }
  pipes.CloseInput();
  command.join();
  EXPECT_EQ(status, kExitOk);
}

}  // namespace
}  // namespace hstu
