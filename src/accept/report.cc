#include "accept/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace hstu {
namespace {

using nlohmann::ordered_json;

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

const char* Verdict(const Metric& metric) {
  if (!metric.limit) return "reported";
  return metric.passed() ? "passed" : "BROKEN";
}

}  // namespace

bool Metric::passed() const {
  if (!value || !limit) return true;
  if (std::isnan(*value)) return false;
  return side == LimitSide::kAtMost ? *value <= *limit : *value > *limit;
}

bool AcceptanceReport::passed() const {
  return std::all_of(metrics.begin(), metrics.end(), [](const Metric& m) { return m.passed(); });
}

std::string MetricNumber(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "-";
  std::string text = fmt::format("{:.4g}", *value);
  return unit.empty() ? text : text + " " + unit;
}

ordered_json ReportJson(const AcceptanceReport& report) {
  ordered_json json{{"passed", report.passed()}, {"metrics", ordered_json::array()}};
  for (const Metric& metric : report.metrics) {
    json["metrics"].push_back({{"name", metric.name},
                               {"value", OrNull(metric.value)},
                               {"limit", OrNull(metric.limit)},
                               {"passed", metric.passed()},
                               {"unit", metric.unit},
                               {"detail", metric.detail}});
  }
  json["facts"] = ordered_json::object();
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  return json;
}

std::string ReportTable(const AcceptanceReport& report) {
  std::string text;
  for (const Metric& metric : report.metrics) {
    const char* side = metric.side == LimitSide::kAtMost ? "<=" : "> ";
    text += fmt::format("{:<9} {:<18} {:>12}  {} {:<12} {}\n", Verdict(metric), metric.name,
                        MetricNumber(metric.value, metric.unit), side,
                        MetricNumber(metric.limit, metric.unit), metric.detail);
  }
  return text + (report.passed() ? "accepted\n" : "NOT accepted\n");
}

}  // namespace hstu
