#include "base/trace.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace hstu {
namespace {

Trace TwoThreads() {
  Trace trace(2, 2);
  trace.Add(0, {"gemm", 1000, 4000, 6e3, 100.0});
  trace.Add(1, {"gemm", 2000, 3000, 2e3, 50.0});
  trace.Add(1, {"norm", 3000, 3500, 0.0, 10.0});
  trace.Add(1, {"norm", 3500, 4500, 0.0, 10.0});  // past the capacity
  return trace;
}

TEST(Trace, TotalsByNameAndCountsWhatItDrops) {
  const Trace trace = TwoThreads();
  const std::vector<TraceTotal> totals = trace.Totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].name, "gemm");
  EXPECT_EQ(totals[0].calls, 2);
  EXPECT_NEAR(totals[0].seconds, 4e-6, 1e-12);
  EXPECT_EQ(totals[0].flops, 8e3);
  EXPECT_EQ(trace.dropped(), 1);
  EXPECT_THAT(FormatTotals(totals), testing::HasSubstr("gemm"));
}

TEST(Trace, WritesWhatPerfettoReads) {
  const nlohmann::json json = nlohmann::json::parse(TwoThreads().ToChromeJson());
  const auto& events = json.at("traceEvents");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("ph"), "X");
  EXPECT_EQ(events[0].at("ts"), 0.0);
  EXPECT_EQ(events[0].at("dur"), 3.0);
  EXPECT_EQ(events[1].at("tid"), 1);
  EXPECT_TRUE(nlohmann::json::parse(Trace(1, 1).ToChromeJson()).at("traceEvents").empty());
}

TEST(Trace, AScopeWithoutATraceDoesNothing) {
  TraceScope scope(nullptr, 0, "nothing");
  EXPECT_FALSE(scope.enabled());
  scope.Work(1.0, 1.0);
}

}  // namespace
}  // namespace hstu
