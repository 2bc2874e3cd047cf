// The option --json FILE that commands with a result for other programs have.
#ifndef HSTU_CLI_JSON_OUTPUT_H_
#define HSTU_CLI_JSON_OUTPUT_H_

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// Declares --json on `app`; without a value it means "-", standard output.
void AddJsonOption(CLI::App& app, std::string& file);

// Writes it whole to `file`, "-" for standard output.
Status WriteJson(const nlohmann::ordered_json& value, const std::string& file);

}  // namespace hstu

#endif  // HSTU_CLI_JSON_OUTPUT_H_
