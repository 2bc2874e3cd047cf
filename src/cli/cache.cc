// hstu cache: where K and V lie, what is cached of whom, and a check of a cache log.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cache/cache_log.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/history_lengths.h"
#include "cli/json_output.h"
#include "cli/request_file.h"
#include "cli/standard_output.h"
#include "engine/dtypes.h"
#include "engine/kv_shape.h"
#include "model/weights.h"

namespace hstu {
namespace {

using nlohmann::ordered_json;

constexpr int kExitFaults = 1;

struct CacheOptions {
  std::string model;
  std::string requests;
  std::string data;
  std::string user;
  std::string log;
  std::string json;
  EngineOptions engine;
};

Result<int> Print(const ordered_json& json, const std::string& text, const std::string& file,
                  int status) {
  if (!file.empty()) HSTU_RETURN_IF_ERROR(WriteJson(json, file));
  if (file != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(text));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  return status;
}

// What rounding up to whole pages costs users of these lengths.
ordered_json Rounding(const KvLayout& layout, const std::vector<std::int64_t>& lengths) {
  std::int64_t tokens = 0;
  std::int64_t used = 0;
  std::int64_t taken = 0;
  const std::int64_t page_bytes = LayerPageBytes(layout.page);
  for (const std::int64_t length : lengths) {
    tokens += length;
    const StagePositions counts = CompleteTokens(layout.shape.stages, length);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::int64_t layers = layout.stages[i].num_layers;
      taken += layers * CeilDiv(counts[i], layout.page.page_tokens) * page_bytes;
      used += layers * counts[i] * page_bytes / layout.page.page_tokens;
    }
  }
  const double rounding =
      taken == 0 ? 0.0 : static_cast<double>(taken - used) / static_cast<double>(taken);
  return {{"users", lengths.size()},
          {"tokens", tokens},
          {"bytes", used},
          {"bytes_of_pages", taken},
          {"rounding", rounding}};
}

ordered_json LayoutJson(const KvLayout& layout) {
  ordered_json json{{"page_size", layout.page.page_tokens},
                    {"kv_dtype", NameOf(layout.page.dtype)},
                    {"key_page_bytes", layout.page.KeyPageBytes()},
                    {"value_page_bytes", layout.page.ValuePageBytes()},
                    {"key_bytes", layout.KeyBytes()},
                    {"value_bytes", layout.ValueBytes()},
                    {"users", layout.users == 0 ? ordered_json() : ordered_json(layout.users)},
                    {"beside_bytes", layout.beside_bytes},
                    {"bytes", layout.Bytes()}};
  for (std::size_t layer = 0; layer < layout.key_offsets.size(); ++layer) {
    const std::size_t stage = layout.StageOf(static_cast<std::int64_t>(layer));
    json["layers"].push_back({{"layer", layer},
                              {"stage", stage},
                              {"pages", layout.stages[stage].pages},
                              {"key_offset", layout.key_offsets[layer]},
                              {"value_offset", layout.value_offsets[layer]}});
  }
  const KvUserBytes user = CountUserBytes(layout.shape, layout.page.page_tokens);
  json["user"] = {{"max_tokens", layout.shape.max_history_tokens},
                  {"bytes", user.staged},
                  {"bytes_if_all_layers_were_as_long", user.uniform},
                  {"bytes_in_an_allocation_a_layer", user.separate}};
  return json;
}

std::string LayoutText(const ordered_json& json) {
  std::string text = fmt::format(
      "{} tokens a page, {}: K {} bytes, V {} bytes a page and layer\n",
      json["page_size"].get<std::int64_t>(), json["kv_dtype"].get<std::string>(),
      json["key_page_bytes"].get<std::int64_t>(), json["value_page_bytes"].get<std::int64_t>());
  fmt::format_to(std::back_inserter(text), "{:>5} {:>5} {:>8} {:>16} {:>16}\n", "layer", "stage",
                 "pages", "K at byte", "V at byte");
  for (const auto& layer : json["layers"]) {
    fmt::format_to(std::back_inserter(text), "{:>5} {:>5} {:>8} {:>16} {:>16}\n",
                   layer["layer"].get<std::int64_t>(), layer["stage"].get<std::int64_t>(),
                   layer["pages"].get<std::int64_t>(), layer["key_offset"].get<std::int64_t>(),
                   layer["value_offset"].get<std::int64_t>());
  }
  fmt::format_to(std::back_inserter(text), "pool: K {} bytes, V {} bytes",
                 json["key_bytes"].get<std::int64_t>(), json["value_bytes"].get<std::int64_t>());
  if (!json["users"].is_null()) {
    fmt::format_to(std::back_inserter(text), ", beside pages {} bytes of {} users at most",
                   json["beside_bytes"].get<std::int64_t>(), json["users"].get<std::int64_t>());
  }
  fmt::format_to(std::back_inserter(text), ", {} in all\n", json["bytes"].get<std::int64_t>());
  const auto& user = json["user"];
  const auto bytes = user["bytes"].get<std::int64_t>();
  const auto uniform = user["bytes_if_all_layers_were_as_long"].get<std::int64_t>();
  fmt::format_to(std::back_inserter(text), "a user of {} tokens: {} bytes",
                 user["max_tokens"].get<std::int64_t>(), bytes);
  if (bytes < uniform) {
    const auto separate = user["bytes_in_an_allocation_a_layer"].get<std::int64_t>();
    fmt::format_to(
        std::back_inserter(text),
        "; stages save {:.1f} % of {}; an allocation of its own for each layer: {}, {:.1f} % less",
        100.0 * static_cast<double>(uniform - bytes) / static_cast<double>(uniform), uniform,
        separate, 100.0 * static_cast<double>(bytes - separate) / static_cast<double>(bytes));
  }
  text += '\n';
  if (json.contains("sample")) {
    const auto& sample = json["sample"];
    fmt::format_to(std::back_inserter(text),
                   "{} users with {} tokens: {} bytes of K and V in pages of {} bytes; rounding up "
                   "to pages is {:.1f} % of these\n",
                   sample["users"].get<std::int64_t>(), sample["tokens"].get<std::int64_t>(),
                   sample["bytes"].get<std::int64_t>(),
                   sample["bytes_of_pages"].get<std::int64_t>(),
                   100.0 * sample["rounding"].get<double>());
  }
  return text;
}

Result<int> RunLayout(const CacheOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const EngineDTypes dtypes, ParseDTypes(options.engine));
  HSTU_ASSIGN_OR_RETURN(const ModelFiles model, ModelFiles::Load(options.model));
  HSTU_ASSIGN_OR_RETURN(const KvLayout layout,
                        KvLayoutOf(model.config(), options.engine, dtypes.kv));
  ordered_json json = LayoutJson(layout);
  if (!options.requests.empty() || !options.data.empty()) {
    HSTU_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths,
                          HistoryLengths(model, options.engine, options.requests, options.data));
    json["sample"] = Rounding(layout, lengths);
  }
  return Print(json, LayoutText(json), options.json, kExitOk);
}

std::string Range(const ordered_json& stages) {
  std::string text;
  for (const auto& stage : stages) {
    fmt::format_to(std::back_inserter(text), "{}[{}, {})", text.empty() ? "" : " ",
                   stage["first"].get<std::int64_t>(), stage["count"].get<std::int64_t>());
  }
  return text;
}

std::string DumpText(const ordered_json& json) {
  std::string text = fmt::format("{:<16} {:<6} {:>8} {:>12}  {}\n", "user", "tier", "context",
                                 "bytes", "positions, a stage each");
  for (const auto& user : json["users"]) {
    fmt::format_to(std::back_inserter(text), "{:<16} {:<6} {:>8} {:>12}  {}\n",
                   user["user_id"].get<std::string>(), user["tier"].get<std::string>(),
                   user["num_context"].get<std::int64_t>(), user["bytes"].get<std::int64_t>(),
                   Range(user["stages"]));
    if (json["users"].size() > 8) continue;
    fmt::format_to(std::back_inserter(text), "  tokens {}\n", user["tokens"].dump());
    for (const auto& stage : user["stages"]) {
      if (stage.contains("pages")) {
        fmt::format_to(std::back_inserter(text), "  pages  {}\n", stage["pages"].dump());
      }
    }
  }
  return text;
}

Result<int> RunDump(CacheOptions options) {
  options.engine.kv_cache = true;
  HSTU_ASSIGN_OR_RETURN(Engine engine, LoadEngine(options.model, options.engine));
  if (!options.requests.empty()) {
    HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests, ReadRequests(options.requests));
    for (const Request& request : requests) engine.Rank({&request, 1});
  }
  const std::optional<std::string> user =
      options.user.empty() ? std::nullopt : std::optional(options.user);
  const ordered_json json = ordered_json::parse(engine.DescribeCache(user));
  return Print(json, DumpText(json), options.json, kExitOk);
}

Result<int> RunCheck(const CacheOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const CacheLogReport report, CheckCacheLog(options.log));
  const ordered_json json{
      {"steps", report.steps},
      {"lines", report.lines},
      {"tokens_written", report.tokens_written},
      {"tokens_arrived", report.tokens_arrived},
      {"tokens_read", report.tokens_read},
      {"overlaps", report.overlaps},
      {"gaps", report.gaps},
      {"meetings", report.meetings},
      {"first_fault", report.ok() ? ordered_json() : ordered_json(report.first_fault)}};
  std::string text = fmt::format(
      "{} steps: {} tokens written, {} brought back, {} read (each layer counts)\n"
      "{} overlaps, {} gaps, {} writes that meet a read of their step\n",
      report.steps, report.tokens_written, report.tokens_arrived, report.tokens_read,
      report.overlaps, report.gaps, report.meetings);
  if (!report.ok()) text += report.first_fault + "\n";
  return Print(json, text, options.json, report.ok() ? kExitOk : kExitFaults);
}

}  // namespace

Runner AddCache(CLI::App& app) {
  app.require_subcommand(1);
  auto options = std::make_shared<CacheOptions>();
  CLI::App* layout = app.add_subcommand("layout", "where the K and V of every layer lie");
  CLI::App* dump = app.add_subcommand("dump",
                                      "what is cached of users: in --disk, say, or after "
                                      "--requests");
  CLI::App* check = app.add_subcommand("check", "looks for faults in a file of --cache-log");
  for (CLI::App* command : {layout, dump}) {
    command->add_option("--model", options->model, "folder of the model")->required();
    AddEngineOptions(*command, options->engine);
    AddJsonOption(*command, options->json);
  }
  layout->add_option("--requests", options->requests,
                     "JSON Lines: what rounding up to pages costs their users");
  layout->add_option("--data", options->data,
                     "folder with processed_seqs_inference.csv: what it costs these users");
  dump->add_option("--requests", options->requests, "JSON Lines that are ranked first");
  dump->add_option("--user", options->user, "this one alone");
  check->add_option("log", options->log, "file that --cache-log wrote")->required();
  AddJsonOption(*check, options->json);
  return [options, layout, dump] {
    if (layout->parsed()) return RunLayout(*options);
    return dump->parsed() ? RunDump(*options) : RunCheck(*options);
  };
}

}  // namespace hstu
