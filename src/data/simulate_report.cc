// How a simulation is shown: as a table, and as JSON.
#include "data/report_format.h"
#include "data/simulate.h"

namespace hstu {
namespace {

std::string Percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string TaskTable(const SimulateReport& report) {
  if (report.tasks.empty()) return {};
  std::string text = fmt::format("{:<24} {:>8}  {:<17} {:>10} {:>10}\n", "task", "AUC",
                                 "95 % interval", "positives", "candidates");
  for (const SimulatedTask& task : report.tasks) {
    text += fmt::format("{:<24} {:>8}  {:<17} {:>10} {:>10}\n", task.name, Cell(task.auc.value),
                        IntervalCell(task.auc), task.auc.positives, report.candidates);
  }
  return text + "\n";
}

std::string TierTable(const SimulateReport& report) {
  std::string text = fmt::format("{:<24} {:>8} {:>9} {:>12} {:>11}\n", "tier", "hits", "hit rate",
                                 "tokens", "of history");
  for (const TierReport& tier : report.tiers) {
    text += fmt::format("{:<24} {:>8} {:>9} {:>12} {:>11}\n", tier.name, tier.hits,
                        Percent(Share(tier.hits, report.requests)), tier.tokens,
                        Percent(Share(tier.tokens, report.history_tokens)));
  }
  return text + "\n";
}

std::string RunLine(const char* name, const RunReport& run, std::int64_t requests) {
  return fmt::format("{:<14} {:.3f} s, {:.1f} requests/s, batch p50 {:.3f} ms, p99 {:.3f} ms\n",
                     name, run.seconds, PerSecond(requests, run.seconds), 1e3 * run.batch_p50,
                     1e3 * run.batch_p99);
}

std::string ComparisonLines(const SimulateReport& report) {
  const ComparisonReport& compared = *report.comparison;
  std::string text = RunLine("without cache", compared.run, report.requests);
  text +=
      fmt::format("{:<14} {:.2f}\n", "speed-up", Share(compared.run.seconds, report.run.seconds));
  text += fmt::format("{:<14} {} of {} answers have the same bits", "compared",
                      compared.answers - compared.different, compared.answers);
  if (compared.different > 0) {
    text += fmt::format(", the largest difference is {:.3g}", compared.largest_difference);
  }
  text += '\n';
  if (compared.evicted > 0) {
    text += fmt::format("{:<14} {} answers had evicted tokens, the largest difference is {:.3g}\n",
                        "", compared.evicted, compared.largest_evicted_difference);
  }
  return text;
}

nlohmann::ordered_json RunJson(const RunReport& run, std::int64_t requests) {
  return {{"seconds", run.seconds},
          {"requests_per_second", PerSecond(requests, run.seconds)},
          {"batches", run.batches},
          {"latency", {{"p50", run.batch_p50}, {"p99", run.batch_p99}}}};
}

nlohmann::ordered_json TiersJson(const SimulateReport& report) {
  auto tiers = nlohmann::ordered_json::array();
  for (const TierReport& tier : report.tiers) {
    tiers.push_back({{"tier", tier.name},
                     {"hits", tier.hits},
                     {"hit_rate", Share(tier.hits, report.requests)},
                     {"tokens", tier.tokens},
                     {"token_rate", Share(tier.tokens, report.history_tokens)}});
  }
  return tiers;
}

nlohmann::ordered_json ComparisonJson(const SimulateReport& report) {
  const ComparisonReport& compared = *report.comparison;
  nlohmann::ordered_json json = RunJson(compared.run, report.requests);
  json["speed_up"] = Share(compared.run.seconds, report.run.seconds);
  json["answers"] = compared.answers;
  json["different"] = compared.different;
  json["largest_difference"] = compared.largest_difference;
  json["evicted_answers"] = compared.evicted;
  json["largest_evicted_difference"] = compared.largest_evicted_difference;
  return json;
}

}  // namespace

std::string SimulateTable(const SimulateReport& report) {
  std::string text = TaskTable(report) + TierTable(report);
  text += fmt::format("{} requests of {} users, {} candidates; {} intervals had no row\n",
                      report.requests, report.users, report.candidates, report.skipped);
  text +=
      fmt::format("{} of {} tokens were computed ({})\n", report.tokens_computed,
                  report.tokens_asked, Percent(Share(report.tokens_computed, report.tokens_asked)));
  if (report.evicted_answers > 0) {
    text +=
        fmt::format("{} answers were without their user's oldest tokens\n", report.evicted_answers);
  }
  if (report.resent > 0) {
    text += fmt::format("{} requests were sent again, whole, because their user was evicted\n",
                        report.resent);
  }
  if (report.cache_seconds) {
    text += fmt::format("{:.3f} s ({} of the time) went into managing the cache\n",
                        *report.cache_seconds,
                        Percent(Share(*report.cache_seconds, report.run.seconds)));
  }
  text += "\n" + RunLine("replayed", report.run, report.requests);
  return report.comparison ? text + ComparisonLines(report) : text;
}

nlohmann::ordered_json SimulateJson(const SimulateReport& report) {
  nlohmann::ordered_json json;
  if (!report.tasks.empty()) {
    auto auc = nlohmann::ordered_json::object();
    auto tasks = nlohmann::ordered_json::array();
    for (const SimulatedTask& task : report.tasks) {
      auc[task.name] = OrNull(task.auc.value);
      tasks.push_back({{"task", task.name},
                       {"auc", OrNull(task.auc.value)},
                       {"auc_low", OrNull(task.auc.low)},
                       {"auc_high", OrNull(task.auc.high)},
                       {"positives", task.auc.positives},
                       {"candidates", report.candidates}});
    }
    json["auc"] = auc;
    json["tasks"] = tasks;
  }
  json["users"] = report.users;
  json["requests"] = report.requests;
  json["candidates"] = report.candidates;
  json["skipped_intervals"] = report.skipped;
  json["resent_requests"] = report.resent;
  json["tokens_asked"] = report.tokens_asked;
  json["tokens_computed"] = report.tokens_computed;
  json["history_tokens"] = report.history_tokens;
  json["evicted_answers"] = report.evicted_answers;
  json["tiers"] = TiersJson(report);
  json["cache_seconds"] = OrNull(report.cache_seconds);
  json.update(RunJson(report.run, report.requests));
  if (report.comparison) json["without_cache"] = ComparisonJson(report);
  return json;
}

}  // namespace hstu
