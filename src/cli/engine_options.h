// The options that every command with an engine has in common.
#ifndef HSTU_CLI_ENGINE_OPTIONS_H_
#define HSTU_CLI_ENGINE_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "hstu/hstu.hpp"
#include "model/weights.h"

namespace hstu {

// Threads, and the KV cache and its size.
void AddCapacityOptions(CLI::App& app, EngineOptions& options);

// EngineOptions::bf16_products, which compiling has too.
CLI::Option* AddBF16ProductsOption(CLI::App& app, std::string& products);

// Declares them on `app`; parsing fills `options`, which must live until then.
void AddEngineOptions(CLI::App& app, EngineOptions& options);

// An engine as the options say. Says on stderr what it has to do without: artifacts that are
// optional and don't fit, and a cache that the model can't have.
Result<Engine> LoadEngine(const std::string& model, const EngineOptions& options);

// The option --warm-up, and what it asks for.
void AddWarmUpOption(CLI::App& app, std::string& file);
Status WarmUp(Engine& engine, const std::string& file);

// The options of ranks, of commands that run under mpirun: rank 0 does the command's work.
void AddRankOptions(CLI::App& app, EngineOptions& options);
// On another rank: does its part until rank 0's engine ends, and returns true.
bool FollowedToTheEnd(Engine& engine);

}  // namespace hstu

#endif  // HSTU_CLI_ENGINE_OPTIONS_H_
