// The option --profile FILE of commands with an engine.
#ifndef HSTU_CLI_PROFILE_H_
#define HSTU_CLI_PROFILE_H_

#include <CLI/CLI.hpp>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// Declares --profile on `app`; given, it makes the engine record.
void AddProfileOption(CLI::App& app, std::string& file, EngineOptions& options);

// Writes the trace to `file` and the table by operator to stderr; nothing without a file.
Status WriteProfile(const Engine& engine, const std::string& file);

}  // namespace hstu

#endif  // HSTU_CLI_PROFILE_H_
