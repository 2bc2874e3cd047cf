// How an evaluation is shown: as a table, and as JSON.
#include "data/evaluate.h"
#include "data/report_format.h"

namespace hstu {

std::string EvalTable(const EvalReport& report) {
  std::string text =
      fmt::format("{:<24} {:>8}  {:<17} {:>10} {:>11} {:>10} {:>10}\n", "task", "AUC",
                  "95 % interval", "popularity", "last action", "positives", "candidates");
  for (const TaskReport& task : report.tasks) {
    text +=
        fmt::format("{:<24} {:>8}  {:<17} {:>10} {:>11} {:>10} {:>10}\n", task.name,
                    Cell(task.model.value), IntervalCell(task.model), Cell(task.popularity.value),
                    Cell(task.last_action.value), task.model.positives, report.candidates);
  }
  text += fmt::format(
      "{} of {} users ({} have more items than candidates), {} tokens in {:.3f} s: ", report.users,
      report.file_users, report.eligible_users, report.tokens, report.seconds);
  text += fmt::format("{:.0f} tokens/s, {:.1f} users/s\n", PerSecond(report.tokens, report.seconds),
                      PerSecond(report.users, report.seconds));
  text += fmt::format("{} steps, latency p50 {:.3f} ms, p99 {:.3f} ms\n", report.steps,
                      1e3 * report.step_p50, 1e3 * report.step_p99);
  return text;
}

nlohmann::ordered_json EvalJson(const EvalReport& report) {
  nlohmann::ordered_json json;
  nlohmann::ordered_json auc = nlohmann::ordered_json::object();
  for (const TaskReport& task : report.tasks) auc[task.name] = OrNull(task.model.value);
  json["auc"] = auc;
  json["tasks"] = nlohmann::ordered_json::array();
  for (const TaskReport& task : report.tasks) {
    json["tasks"].push_back({{"task", task.name},
                             {"auc", OrNull(task.model.value)},
                             {"auc_low", OrNull(task.model.low)},
                             {"auc_high", OrNull(task.model.high)},
                             {"popularity_auc", OrNull(task.popularity.value)},
                             {"last_action_auc", OrNull(task.last_action.value)},
                             {"positives", task.model.positives},
                             {"candidates", report.candidates}});
  }
  json["users"] = report.users;
  json["eligible_users"] = report.eligible_users;
  json["file_users"] = report.file_users;
  json["candidates"] = report.candidates;
  json["tokens"] = report.tokens;
  json["seconds"] = report.seconds;
  json["tokens_per_second"] = PerSecond(report.tokens, report.seconds);
  json["users_per_second"] = PerSecond(report.users, report.seconds);
  json["steps"] = report.steps;
  json["latency"] = {{"p50", report.step_p50}, {"p99", report.step_p99}};
  return json;
}

}  // namespace hstu
