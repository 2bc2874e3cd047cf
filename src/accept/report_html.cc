#include <fmt/format.h>

#include "accept/markup.h"
#include "accept/report.h"
#include "accept/svg_plot.h"

namespace hstu {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4em .6em; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
.verdict { padding: .6em 1em; font-size: 1.3em; color: #fff; border-radius: 4px; }
.yes { background: #00734f; } .no { background: #b3261e; }
td.passed { color: #00734f; } td.broken { color: #b3261e; font-weight: bold; } td.reported { color: #666; }
svg text { font: 12px system-ui, sans-serif; fill: #444; } svg .grid { stroke: #ddd; }
)";

std::string Facts(const AcceptanceReport& report) {
  std::string html = "<table>\n";
  for (const auto& [name, value] : report.facts) {
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", EscapeMarkup(name),
                        EscapeMarkup(value));
  }
  return html + "</table>\n";
}

std::string Row(const Metric& metric) {
  const char* verdict = !metric.limit ? "reported" : metric.passed() ? "passed" : "broken";
  const char* side = metric.side == LimitSide::kAtMost ? "at most" : "more than";
  const std::string limit =
      metric.limit ? fmt::format("{} {}", side, MetricNumber(metric.limit, metric.unit)) : "none";
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>"
      "<td class=\"number\">{}</td><td class=\"{}\">{}</td><td>{}</td></tr>\n",
      EscapeMarkup(metric.title), EscapeMarkup(MetricNumber(metric.value, metric.unit)),
      EscapeMarkup(limit), verdict, verdict, EscapeMarkup(metric.detail));
}

std::string Verdict(const AcceptanceReport& report) {
  std::string broken;
  for (const Metric& metric : report.metrics) {
    if (!metric.passed()) broken += (broken.empty() ? "" : ", ") + metric.title;
  }
  if (broken.empty()) return "<p class=\"verdict yes\">Accepted: no limit is broken.</p>\n";
  return fmt::format("<p class=\"verdict no\">Not accepted: {}.</p>\n", EscapeMarkup(broken));
}

}  // namespace

std::string ReportHtml(const AcceptanceReport& report) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Acceptance</title>"
      "<style>{}</style></head>\n<body>\n<h1>Acceptance of compiled artifacts</h1>\n",
      kStyle);
  html += Verdict(report) + Facts(report);
  html +=
      "<h2>Limits</h2>\n<table>\n<tr><th>what</th><th>value</th><th>limit</th><th>verdict</th>"
      "<th>how it was found</th></tr>\n";
  for (const Metric& metric : report.metrics) html += Row(metric);
  html += "</table>\n";
  for (const Plot& plot : report.plots) {
    html += fmt::format("<h2>{}</h2>\n{}", EscapeMarkup(plot.title), SvgPlot(plot));
  }
  return html + "</body>\n</html>\n";
}

}  // namespace hstu
