// The options that every command with an engine has in common.
#ifndef HSTU_CLI_ENGINE_OPTIONS_H_
#define HSTU_CLI_ENGINE_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

// Declares them on `app`; parsing fills `options`, which must live until then.
void AddEngineOptions(CLI::App& app, EngineOptions& options);

// The config of a model folder.
Result<ModelConfig> ReadModelConfig(const std::string& folder);

// Says on stderr that the model can't be cached, where a cache was asked for.
void NoteMissingCache(const Engine& engine, const EngineOptions& options);

}  // namespace hstu

#endif  // HSTU_CLI_ENGINE_OPTIONS_H_
