// The outcome of an acceptance: metrics with their limits, and curves for those who decide.
#ifndef HSTU_ACCEPT_REPORT_H_
#define HSTU_ACCEPT_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hstu {

// The side of its limit that a value must be on.
enum class LimitSide { kAtMost, kMoreThan };

struct Metric {
  std::string name;   // as in the limits file
  std::string title;  // for readers
  std::string unit;   // may be empty
  LimitSide side = LimitSide::kAtMost;
  std::optional<double> value;  // nothing: there was nothing to measure, which breaks no limit
  std::optional<double> limit;  // nothing: reported only
  std::string detail;           // what was measured, and of a broken limit what broke it

  bool passed() const;
};

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<Curve> curves;
};

struct AcceptanceReport {
  // Name and value, in order: model, artifacts, machine...
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Metric> metrics;
  std::vector<Plot> plots;

  bool passed() const;
};

// {"passed", "metrics": [{"name", "value", "limit", "passed", "unit", "detail"}], "facts"}
nlohmann::ordered_json ReportJson(const AcceptanceReport& report);

// One page that needs nothing else: the verdict, the table, the plots as SVG.
std::string ReportHtml(const AcceptanceReport& report);

// A test suite in which each metric is a test case.
std::string ReportJunit(const AcceptanceReport& report);

// What a terminal shows.
std::string ReportTable(const AcceptanceReport& report);

// A number as reports show it; "-" for nothing.
std::string MetricNumber(const std::optional<double>& value, const std::string& unit);

}  // namespace hstu

#endif  // HSTU_ACCEPT_REPORT_H_
