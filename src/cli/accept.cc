// hstu accept: may these artifacts be deployed?
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "accept/acceptance.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/request_file.h"
#include "cli/standard_output.h"

namespace hstu {
namespace {

struct AcceptArguments {
  AcceptanceOptions accept;
  std::string baseline;
  std::string record_baseline;
  std::string out;
};

Status WriteReports(const AcceptanceReport& report, const std::string& folder) {
  HSTU_RETURN_IF_ERROR(WriteWholeFile(folder + "/report.json", ReportJson(report).dump(2) + "\n"));
  HSTU_RETURN_IF_ERROR(WriteWholeFile(folder + "/report.html", ReportHtml(report)));
  return WriteWholeFile(folder + "/junit.xml", ReportJunit(report));
}

// What can't be loaded or run is a report too.
AcceptanceReport ReportOf(const AcceptArguments& arguments, const Error& error) {
  AcceptanceReport report;
  report.facts = {{"model", arguments.accept.model}, {"artifacts", arguments.accept.artifacts}};
  report.metrics.push_back({"artifacts", "Artifacts that load and run", "", LimitSide::kMoreThan,
                            0.0, 0.0, error.message});
  return report;
}

Result<int> RunAccept(AcceptArguments& arguments) {
  AcceptanceOptions& options = arguments.accept;
  if (options.binary.empty()) options.binary = std::filesystem::read_symlink("/proc/self/exe");
  if (!arguments.baseline.empty()) {
    HSTU_ASSIGN_OR_RETURN(options.baseline, ReadBaseline(arguments.baseline));
  }
  HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests, ReadRequests(options.requests));
  std::error_code failed;
  std::filesystem::create_directories(arguments.out, failed);
  if (failed) {
    return MakeError(ErrorCode::kIo, "--out {}: {}", arguments.out, failed.message());
  }
  const Result<Acceptance> acceptance = Accept(options, requests);
  if (!acceptance.ok()) {
    HSTU_RETURN_IF_ERROR(WriteReports(ReportOf(arguments, acceptance.error()), arguments.out));
    return acceptance.error();
  }
  const AcceptanceReport& report = acceptance->report;
  HSTU_RETURN_IF_ERROR(WriteReports(report, arguments.out));
  HSTU_RETURN_IF_ERROR(WriteStandardOutput(ReportTable(report)));
  HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  if (!arguments.record_baseline.empty()) {
    HSTU_RETURN_IF_ERROR(WriteBaseline(acceptance->measured, arguments.record_baseline));
  }
  return report.passed() ? kExitOk : kExitBroken;
}

}  // namespace

Runner AddAccept(CLI::App& app) {
  auto arguments = std::make_shared<AcceptArguments>();
  AcceptanceOptions& accept = arguments->accept;
  app.add_option("--model", accept.model, "folder of the model")->required();
  app.add_option("--artifacts", accept.artifacts, "folder that hstu compile made")->required();
  app.add_option("--requests", accept.requests, "JSON Lines like those that will be answered")
      ->required();
  app.add_option("--limits", accept.limits,
                 "JSON of limits by name; null: the metric is only reported");
  auto* baseline = app.add_option("--baseline", arguments->baseline,
                                  "file of --record-baseline, for the steady step");
  app.add_option("--record-baseline", arguments->record_baseline,
                 "file to write, for later builds to be held against")
      ->excludes(baseline);
  app.add_option("--out", arguments->out, "folder for report.json, report.html and junit.xml")
      ->required();
  app.add_option("--hstu", accept.binary, "binary whose start is timed; this one by default");
  AddCapacityOptions(app, accept.engine);
  return [arguments] { return RunAccept(*arguments); };
}

}  // namespace hstu
