#include <fmt/format.h>

#include <algorithm>

#include "accept/markup.h"
#include "accept/report.h"

namespace hstu {
namespace {

std::string TestCase(const Metric& metric) {
  const std::string value = MetricNumber(metric.value, metric.unit);
  const std::string limit = MetricNumber(metric.limit, metric.unit);
  std::string text = fmt::format("  <testcase classname=\"hstu.accept\" name=\"{}\">\n",
                                 EscapeMarkup(metric.name));
  if (!metric.value) {
    text += fmt::format("    <skipped message=\"{}\"/>\n", EscapeMarkup(metric.detail));
  } else if (!metric.passed()) {
    text += fmt::format("    <failure message=\"{}\">{}</failure>\n",
                        EscapeMarkup(fmt::format("{} breaks the limit {}", value, limit)),
                        EscapeMarkup(metric.detail));
  }
  text += fmt::format("    <system-out>{}</system-out>\n",
                      EscapeMarkup(fmt::format("{}, limit {}. {}", value, limit, metric.detail)));
  return text + "  </testcase>\n";
}

}  // namespace

std::string ReportJunit(const AcceptanceReport& report) {
  const auto& metrics = report.metrics;
  const auto failures =
      std::count_if(metrics.begin(), metrics.end(), [](const Metric& m) { return !m.passed(); });
  const auto skipped =
      std::count_if(metrics.begin(), metrics.end(), [](const Metric& m) { return !m.value; });
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format(
      "<testsuite name=\"hstu.accept\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\">\n",
      metrics.size(), failures, skipped);
  for (const Metric& metric : metrics) text += TestCase(metric);
  return text + "</testsuite>\n";
}

}  // namespace hstu
