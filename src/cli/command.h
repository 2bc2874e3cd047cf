// The subcommands of the binary: one file each, listed in command.cc.
#ifndef HSTU_CLI_COMMAND_H_
#define HSTU_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

#include "hstu/hstu.hpp"

namespace hstu {

// Exit statuses that scripts rely on.
constexpr int kExitOk = 0;
constexpr int kExitBroken = 1;       // what was measured or compared is not as it must be
constexpr int kExitUnreadable = 2;   // an option, a model or a file; one line on stderr says which
constexpr int kExitBadRequests = 3;  // all was read, some requests were answered by an error
constexpr int kExitFallbacks = 4;    // artifacts leave too many kernels to the built-in path

// Runs a command whose options are parsed: its exit status, or an error (kExitUnreadable).
using Runner = std::function<Result<int>()>;

struct Command {
  const char* name;
  const char* summary;
  Runner (*add)(CLI::App& app);  // declares the options on `app`; the runner owns what they fill
};

// In the order of --help.
std::span<const Command> Commands();

Runner AddAccept(CLI::App& app);
Runner AddBench(CLI::App& app);
Runner AddCache(CLI::App& app);
Runner AddCompile(CLI::App& app);
Runner AddConfig(CLI::App& app);
Runner AddEval(CLI::App& app);
Runner AddExplain(CLI::App& app);
Runner AddInfo(CLI::App& app);
Runner AddInit(CLI::App& app);
Runner AddOps(CLI::App& app);
Runner AddPreprocess(CLI::App& app);
Runner AddRank(CLI::App& app);
Runner AddSimulate(CLI::App& app);

// Runs the command line; what main() returns.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace hstu

#endif  // HSTU_CLI_COMMAND_H_
