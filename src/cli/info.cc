// hstu info: what a model folder holds and costs, and what an engine of it takes.
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/standard_output.h"
#include "model/describe.h"
#include "model/weights.h"

namespace hstu {
namespace {

using nlohmann::ordered_json;

struct InfoOptions {
  std::string model;
  std::string json;
  EngineOptions engine;
};

// 10240000000 -> "10.24 GB"
std::string Bytes(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string Plain(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AppendTable(const ordered_json& table, std::string& text) {
  std::string features;
  for (const auto& feature : table["features"]) features += " " + feature.get<std::string>();
  fmt::format_to(std::back_inserter(text), "  {:<24} {:>12} rows  {:<4}  {:>9}  of{}",
                 table["name"].get<std::string>(), table["rows"].get<std::int64_t>(),
                 table["dtype"].get<std::string>(), Bytes(table["bytes"]), features);
  if (table.contains("vocabulary")) {
    fmt::format_to(std::back_inserter(text), "; {} ids in {}, oov_row {}",
                   table["vocabulary"]["ids"].get<std::int64_t>(),
                   table["vocabulary"]["file"].get<std::string>(), Plain(table["oov_row"]));
  }
  text += '\n';
}

std::string Text(const ordered_json& model) {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "  {:<24} {}\n", name, value);
  };
  text += fmt::format("{} ({})\n", Plain(model["model"]), Plain(model["architecture"]));
  for (const auto& [key, value] : model["sizes"].items()) line(key, Plain(value));
  text += "features\n";
  for (const auto& [key, value] : model["features"].items()) line(key, Plain(value));
  text += "tables\n";
  for (const auto& table : model["tables"]) AppendTable(table, text);
  text += "parameters\n";
  for (const auto& [key, value] : model["parameters"].items()) line(key, value.dump());
  text += "memory\n";
  for (const auto& [key, value] : model["memory"].items()) line(key, Bytes(value));
  text += "engine\n";
  for (const auto& [key, value] : model["engine"].items()) {
    line(key, value.is_string() ? Plain(value) : Bytes(value));
  }
  text += "flops\n";
  for (const auto& [key, value] : model["flops"].items()) line(key, value.dump());
  text += fmt::format("fingerprint {}\n", Plain(model["fingerprint"]));
  return text;
}

// What an engine of these options holds before its first step.
Result<ordered_json> DescribeEngine(const InfoOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const Engine engine, LoadEngine(options.model, options.engine));
  const EngineStats stats = engine.stats();
  return ordered_json{{"arena_bytes", stats.arena_bytes},
                      {"weight_bytes", stats.weight_bytes},
                      {"kv_cache_bytes", stats.kv_bytes},
                      {"bf16_products", stats.bf16_products}};
}

Result<int> RunInfo(const InfoOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const ModelFiles model, ModelFiles::Load(options.model));
  ordered_json description = Describe(model);
  HSTU_ASSIGN_OR_RETURN(description["engine"], DescribeEngine(options));
  if (!options.json.empty()) HSTU_RETURN_IF_ERROR(WriteJson(description, options.json));
  if (options.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(Text(description)));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  return kExitOk;
}

}  // namespace

Runner AddInfo(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  app.add_option("--model", options->model, "folder of the model")->required();
  AddJsonOption(app, options->json);
  AddEngineOptions(app, options->engine);
  return [options] { return RunInfo(*options); };
}

}  // namespace hstu
