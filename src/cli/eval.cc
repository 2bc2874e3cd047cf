// hstu eval: AUC of every task on processed files, beside two baselines.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cli/artifacts_report.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/profile.h"
#include "cli/standard_output.h"
#include "data/evaluate.h"
#include "model/config.h"

namespace hstu {
namespace {

struct EvalArguments {
  std::string model;
  std::string keep = "newest";
  std::optional<std::int64_t> candidates;
  std::optional<std::int64_t> max_history;
  std::string json;
  std::string profile;
  std::string warm_up;
  EvalOptions eval;
  EngineOptions engine;
};

// Takes from the model what the options leave open, and refuses what it can't do.
Result<EvalOptions> Complete(const EvalArguments& arguments, const ModelConfig& config) {
  EvalOptions options = arguments.eval;
  options.item_feature = config.item_feature;
  options.action_feature = config.action_feature;
  if (!arguments.engine.disable_context) options.contextual_features = config.contextual_features;
  options.num_tasks = config.num_tasks();
  options.task_names = config.task_names;
  options.keep_oldest = arguments.keep == "oldest";
  options.step_tokens = arguments.engine.max_step_tokens;
  options.candidates = arguments.candidates.value_or(config.max_num_candidates);
  if (options.candidates > config.max_num_candidates) {
    return MakeError(ErrorCode::kBadArgument,
                     "--candidates {} is more than the model's max_num_candidates {}",
                     options.candidates, config.max_num_candidates);
  }
  const auto contextual = static_cast<std::int64_t>(options.contextual_features.size());
  const std::int64_t most = (config.max_history_tokens - contextual) / config.tokens_per_item();
  options.max_history = arguments.max_history.value_or(most);
  if (options.max_history > most) {
    return MakeError(ErrorCode::kBadArgument,
                     "--max-history {} is more than the {} items that fit the model's "
                     "max_history_tokens {}",
                     options.max_history, most, config.max_history_tokens);
  }
  return options;
}

Result<int> RunEval(const EvalArguments& arguments) {
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(arguments.model));
  HSTU_ASSIGN_OR_RETURN(const EvalOptions options, Complete(arguments, config));
  HSTU_ASSIGN_OR_RETURN(Engine engine, LoadEngine(arguments.model, arguments.engine));
  if (FollowedToTheEnd(engine)) return kExitOk;
  HSTU_RETURN_IF_ERROR(WarmUp(engine, arguments.warm_up));
  HSTU_ASSIGN_OR_RETURN(const EvalReport report,
                        Evaluate(options, [&engine](std::span<const Request> requests) {
                          return engine.Rank(requests);
                        }));
  const EngineStats stats = engine.stats();
  if (arguments.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(EvalTable(report) + ArtifactsLine(stats)));
  }
  HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  if (!arguments.json.empty()) {
    nlohmann::ordered_json json = EvalJson(report);
    if (!stats.buckets.empty()) json["artifacts"] = ArtifactsJson(stats);
    HSTU_RETURN_IF_ERROR(WriteJson(json, arguments.json));
  }
  HSTU_RETURN_IF_ERROR(WriteProfile(engine, arguments.profile));
  return kExitOk;
}

}  // namespace

Runner AddEval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  app.add_option("--model", arguments->model, "model folder")->required();
  app.add_option("--data", arguments->eval.data, "folder with processed_seqs.csv, or such a file")
      ->required();
  app.add_flag("--all-users", arguments->eval.all_users,
               "all users with more items than candidates, not only the last 30 %");
  app.add_option(
         "--keep", arguments->keep,
         "newest: the newest history that fits; oldest: cut the sequence to its first items")
      ->check(CLI::IsMember({"newest", "oldest"}))
      ->capture_default_str();
  app.add_option("--candidates", arguments->candidates,
                 "a user's last items that are scored; the model's max_num_candidates by default")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  app.add_option("--max-history", arguments->max_history,
                 "most items of history; what the model takes by default")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  app.add_option("--positive-rating", arguments->eval.positive_rating,
                 "least code of a rating that is positive; that of 4 stars by default")
      ->check(CLI::Range(0, 9));
  AddJsonOption(app, arguments->json);
  AddEngineOptions(app, arguments->engine);
  AddWarmUpOption(app, arguments->warm_up);
  AddRankOptions(app, arguments->engine);
  AddProfileOption(app, arguments->profile, arguments->engine);
  return [arguments] { return RunEval(*arguments); };
}

}  // namespace hstu
