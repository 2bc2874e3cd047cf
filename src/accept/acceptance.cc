#include "accept/acceptance.h"

#include "accept/checks.h"
#include "base/error.h"

namespace hstu {
namespace {

std::vector<std::pair<std::string, std::string>> FactsOf(const Subject& subject) {
  const Metadata& metadata = subject.metadata;
  return {{"model", subject.options.model},
          {"fingerprint", metadata.model_fingerprint},
          {"artifacts", subject.options.artifacts},
          {"compiler", metadata.compiler},
          {"target", metadata.target},
          {"activations", metadata.dtype},
          {"K and V", metadata.kv_dtype},
          {"products of bf16", metadata.bf16_products},
          {"buckets", std::to_string(metadata.buckets.size())},
          {"requests", subject.options.requests},
          {"threads", std::to_string(subject.threads)}};
}

Status RunChecks(const Subject& subject, const Limits& limits, Acceptance* acceptance) {
  AcceptanceReport& report = acceptance->report;
  const auto add = [&report](Metric metric, const std::optional<double>& limit) {
    metric.limit = limit;
    report.metrics.push_back(std::move(metric));
  };
  add(CheckFallbacks(subject), limits.fallback_kernels);
  EngineStats stats;
  HSTU_ASSIGN_OR_RETURN(Metric hits, CheckHits(subject, &stats));
  add(std::move(hits), limits.artifact_hits);
  Plot differences;
  HSTU_ASSIGN_OR_RETURN(Metric consistency, CheckConsistency(subject, &differences));
  add(std::move(consistency), limits.consistency);
  Plot streams;
  HSTU_ASSIGN_OR_RETURN(Metric eviction, CheckEviction(subject, &streams));
  add(std::move(eviction), limits.eviction);
  HSTU_ASSIGN_OR_RETURN(Metric start, CheckColdStart(subject));
  add(std::move(start), limits.cold_start);
  HSTU_ASSIGN_OR_RETURN(Metric peak, CheckPeakMemory(subject, limits.memory_budget, stats));
  add(std::move(peak), limits.peak_memory);
  const Baseline baseline = subject.options.baseline.value_or(Baseline());
  Plot steps;
  HSTU_ASSIGN_OR_RETURN(StepTimes times, MeasureSteps(subject, baseline.steady_step_ratio, &steps));
  add(std::move(times.steady_step), limits.steady_step);
  add(std::move(times.bucket_switch), limits.bucket_switch);
  acceptance->measured.steady_step_ratio = times.ratio;
  report.plots = {std::move(steps), std::move(differences)};
  if (!streams.curves.empty()) report.plots.push_back(std::move(streams));
  return {};
}

}  // namespace

Result<Acceptance> Accept(const AcceptanceOptions& options, std::span<const Request> requests) {
  HSTU_ASSIGN_OR_RETURN(const Subject subject, Subject::Open(options, requests));
  Limits limits = DefaultLimits(subject.f32());
  if (!options.limits.empty()) HSTU_RETURN_IF_ERROR(ReadLimits(options.limits, &limits));
  Acceptance acceptance;
  acceptance.report.facts = FactsOf(subject);
  HSTU_RETURN_IF_ERROR(RunChecks(subject, limits, &acceptance));
  return acceptance;
}

}  // namespace hstu
