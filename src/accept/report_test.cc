#include "accept/report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace hstu {
namespace {

using testing::HasSubstr;
using testing::Not;

Metric Of(std::optional<double> value, std::optional<double> limit,
          LimitSide side = LimitSide::kAtMost) {
  return {"cold_start", "Cold start", "s", side, value, limit, "3 starts"};
}

AcceptanceReport Report(Metric metric) {
  AcceptanceReport report;
  report.facts = {{"model", "a <model> & \"more\""}};
  report.metrics = {std::move(metric)};
  report.plots = {{"Steps", "tokens", "ms", {{"compiled", {{512, 1.5}, {2048, 7}}}}}};
  return report;
}

TEST(MetricTest, IsHeldAgainstItsSideOfTheLimit) {
  EXPECT_TRUE(Of(0.5, 0.5).passed());
  EXPECT_FALSE(Of(0.51, 0.5).passed());
  EXPECT_TRUE(Of(0.96, 0.95, LimitSide::kMoreThan).passed());
  EXPECT_FALSE(Of(0.95, 0.95, LimitSide::kMoreThan).passed());
  EXPECT_FALSE(Of(std::nan(""), 0.5).passed()) << "what can't be compared is not accepted";
}

TEST(MetricTest, WithoutALimitOrAValueNothingIsBroken) {
  EXPECT_TRUE(Of(9.0, std::nullopt).passed());
  EXPECT_TRUE(Of(std::nullopt, 0.5).passed());
}

TEST(ReportTest, JsonHasVerdictAndMetrics) {
  const nlohmann::json json = ReportJson(Report(Of(0.7, 0.5)));
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["metrics"][0]["name"], "cold_start");
  EXPECT_EQ(json["metrics"][0]["value"], 0.7);
  EXPECT_EQ(json["metrics"][0]["limit"], 0.5);
  EXPECT_EQ(json["metrics"][0]["passed"], false);
  EXPECT_TRUE(nlohmann::json(ReportJson(Report(Of(0.7, {}))))["metrics"][0]["limit"].is_null());
}

TEST(ReportTest, HtmlNeedsNothingElseAndSaysWhy) {
  const std::string html = ReportHtml(Report(Of(0.7, 0.5)));
  EXPECT_THAT(html, HasSubstr("Not accepted: Cold start."));
  EXPECT_THAT(html, HasSubstr("a &lt;model&gt; &amp; &quot;more&quot;"));
  EXPECT_THAT(html, HasSubstr("<svg "));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
  EXPECT_THAT(ReportHtml(Report(Of(0.4, 0.5))), HasSubstr("Accepted: no limit is broken."));
}

TEST(ReportTest, JunitCountsFailuresAndWhatWasNotMeasured) {
  EXPECT_THAT(ReportJunit(Report(Of(0.7, 0.5))),
              HasSubstr("tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(ReportJunit(Report(Of(0.7, 0.5))),
              HasSubstr("<failure message=\"0.7 s breaks the limit 0.5 s\">3 starts</failure>"));
  EXPECT_THAT(ReportJunit(Report(Of({}, 0.5))), HasSubstr("skipped=\"1\""));
}

TEST(ReportTest, TableEndsWithTheVerdict) {
  EXPECT_THAT(ReportTable(Report(Of(0.7, 0.5))), HasSubstr("BROKEN    cold_start"));
  EXPECT_THAT(ReportTable(Report(Of(0.7, 0.5))), testing::EndsWith("NOT accepted\n"));
  EXPECT_THAT(ReportTable(Report(Of(0.2, 0.5))), testing::EndsWith("\naccepted\n"));
}

}  // namespace
}  // namespace hstu
