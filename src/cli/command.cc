#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/mpi.h"

namespace hstu {
namespace {

constexpr Command kCommands[] = {
    {"rank", "answers requests: candidates in, a logit of each task out", AddRank},
    {"bench", "measures latency, tokens/s and memory of given requests", AddBench},
    {"eval", "AUC of every task on processed files, beside two baselines", AddEval},
    {"simulate", "replays users' days: AUC, and what the KV cache saves", AddSimulate},
    {"preprocess", "turns a dataset's logs into processed files", AddPreprocess},
    {"cache", "layout of the KV cache, what it holds, and a check of its log", AddCache},
    {"compile", "makes artifacts of a model: a library for each bucket of lengths", AddCompile},
    {"explain", "shows a model's graph, what compiling fuses and where it can't", AddExplain},
    {"accept", "decides whether artifacts may be deployed, and reports why", AddAccept},
    {"config", "makes a config of a gin file", AddConfig},
    {"info", "describes a model: sizes, tables, memory, flops, fingerprint", AddInfo},
    {"init", "makes a random model from a config", AddInit},
    {"ops", "lists the operators, where they come from and their variants", AddOps},
};

int Fail(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (MpiRank() > 0) {
    // What ranks agree on, rank 0 says; then mpirun ends the others, who have waited for it.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    message = fmt::format("rank {}: {}", MpiRank(), message);
  }
  fmt::print(stderr, "hstu: {}\n", message);
  return kExitUnreadable;
}

bool IsCommand(std::string_view name) {
  return std::any_of(std::begin(kCommands), std::end(kCommands),
                     [&](const Command& command) { return command.name == name; });
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int RunCommandLine(int argc, const char* const* argv) {
  if (argc > 1 && argv[1][0] != '-' && !IsCommand(argv[1])) {
    return Fail(fmt::format("{} is no command; see hstu --help", argv[1]));
  }
  CLI::App app("Inference of HSTU generative recommenders", "hstu");
  app.set_version_flag("--version", HSTU_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Runner>> runners;
  for (const Command& command : Commands()) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.summary);
    subcommand->set_version_flag("--version", HSTU_VERSION);
    runners.emplace_back(subcommand, command.add(*subcommand));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Fail(fmt::format("{}; see hstu --help", error.what()));
  }
  for (const auto& [subcommand, run] : runners) {
    if (!subcommand->parsed()) continue;
    const Result<int> status = run();
    return status.ok() ? status.value() : Fail(status.error().message);
  }
  return kExitOk;
}

}  // namespace hstu
