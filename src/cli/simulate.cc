// hstu simulate: replays users' days, and says what the KV cache saves.
#include "data/simulate.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/artifacts_report.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/profile.h"
#include "cli/standard_output.h"
#include "model/config.h"

namespace hstu {
namespace {

struct SimulateArguments {
  std::string model;
  std::string history = "user";
  bool disable_auc = false;
  bool compare = false;
  std::string json;
  std::string profile;
  std::string warm_up;
  SimulateOptions simulate;
  EngineOptions engine;
};

// Takes from the model what the options leave open.
SimulateOptions Complete(const SimulateArguments& arguments, const ModelConfig& config) {
  SimulateOptions options = arguments.simulate;
  options.item_feature = config.item_feature;
  options.action_feature = config.action_feature;
  if (!arguments.engine.disable_context) options.contextual_features = config.contextual_features;
  options.num_tasks = config.num_tasks();
  options.task_names = config.task_names;
  options.max_history_tokens = config.max_history_tokens;
  options.max_num_candidates = config.max_num_candidates;
  options.days_apart = arguments.history == "day";
  options.auc = !arguments.disable_auc;
  return options;
}

Scorer ScorerOf(Engine* engine) {
  return [engine](std::span<const Request> requests) { return engine->Rank(requests); };
}

// The same engine, but for what it keeps; rank 0's alone.
Result<Engine> LoadWithoutCache(const SimulateArguments& arguments) {
  EngineOptions options = arguments.engine;
  options.mpi = false;
  options.dp = false;
  options.embed_tp_size = options.sp_size = options.heads_tp_size = 1;
  options.kv_cache = false;
  options.host_bytes = options.disk_bytes = 0;
  options.disk.clear();
  options.redis.clear();
  options.cache_log.clear();
  options.profile = false;
  return LoadEngine(arguments.model, options);
}

// Of what was not computed, the report knows only that it was cached; the engine knows where.
void SplitByTier(const EngineStats& stats, SimulateReport* report) {
  for (const TierStats& tier : stats.tiers) {
    report->tiers.push_back({tier.name, tier.hits, tier.tokens});
    report->tiers[0].hits -= tier.hits;
    report->tiers[0].tokens -= tier.tokens;
  }
}

bool PromisesSameBits(const EngineOptions& options) {
  const bool ranks_keep_bits =
      options.heads_tp_size == 1 && (options.sp_size == 1 || options.sp_exact);
  return ranks_keep_bits && options.dtype == "f32" &&
         (options.kv_dtype.empty() || options.kv_dtype == "f32");
}

Result<int> RunSimulate(SimulateArguments& arguments) {
  if (arguments.compare && !arguments.engine.kv_cache) {
    return MakeError(ErrorCode::kBadArgument,
                     "--compare compares a run with the KV cache with one without; leave out "
                     "--no-kv-cache");
  }
  arguments.engine.truncate = true;  // histories over the limit are replayed too
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(arguments.model));
  HSTU_ASSIGN_OR_RETURN(Engine engine, LoadEngine(arguments.model, arguments.engine));
  if (FollowedToTheEnd(engine)) return kExitOk;
  HSTU_RETURN_IF_ERROR(WarmUp(engine, arguments.warm_up));
  std::optional<Engine> uncached;
  if (arguments.compare) {
    HSTU_ASSIGN_OR_RETURN(Engine loaded, LoadWithoutCache(arguments));
    uncached.emplace(std::move(loaded));
  }
  const bool cached = engine.stats().kv_bytes > 0;
  HSTU_ASSIGN_OR_RETURN(SimulateReport report,
                        Simulate(Complete(arguments, config), ScorerOf(&engine), cached,
                                 uncached ? ScorerOf(&*uncached) : Scorer()));
  const EngineStats stats = engine.stats();
  if (cached) {
    report.cache_seconds = stats.kv_manage_seconds;
    SplitByTier(stats, &report);
  }
  if (arguments.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(SimulateTable(report) + ArtifactsLine(stats)));
  }
  HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  if (!arguments.json.empty()) {
    nlohmann::ordered_json json = SimulateJson(report);
    if (!stats.buckets.empty()) json["artifacts"] = ArtifactsJson(stats);
    HSTU_RETURN_IF_ERROR(WriteJson(json, arguments.json));
  }
  HSTU_RETURN_IF_ERROR(WriteProfile(engine, arguments.profile));
  const bool differs = report.comparison && report.comparison->different > 0;
  return differs && PromisesSameBits(arguments.engine) ? kExitBroken : kExitOk;
}

}  // namespace

Runner AddSimulate(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  arguments->engine.kv_cache = true;
  app.add_option("--model", arguments->model, "model folder")->required();
  app.add_option("--data", arguments->simulate.data,
                 "folder with processed_seqs_inference.csv and processed_batches.csv")
      ->required();
  app.add_option("--history", arguments->history,
                 "user: a user's days continue one another; day: each begins anew")
      ->check(CLI::IsMember({"user", "day"}))
      ->capture_default_str();
  app.add_option("--max-batch", arguments->simulate.max_batch, "requests that are sent together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_flag("--disable-auc", arguments->disable_auc, "read no labels and compute no AUC");
  app.add_option("--positive-rating", arguments->simulate.positive_rating,
                 "least code of a rating that is positive; that of 4 stars by default")
      ->check(CLI::Range(0, 9));
  app.add_flag("--compare", arguments->compare,
               "replay without the KV cache too: the speed-up, and whether logits are the same");
  AddJsonOption(app, arguments->json);
  AddEngineOptions(app, arguments->engine);
  AddWarmUpOption(app, arguments->warm_up);
  AddRankOptions(app, arguments->engine);
  AddProfileOption(app, arguments->profile, arguments->engine);
  return [arguments] { return RunSimulate(*arguments); };
}

}  // namespace hstu
