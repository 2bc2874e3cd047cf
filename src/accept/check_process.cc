// Checks of whole processes: how fast they start, how much memory they take.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "accept/checks.h"
#include "accept/child_process.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/timing.h"

namespace hstu {
namespace {

constexpr int kStarts = 5;
constexpr double kBudgetFactor = 1.25;
constexpr double kBudgetRest = 64.0 * (1 << 20);
constexpr int kExitAnswered = 3;  // answered, some by errors

// `hstu rank` of a file of requests with the artifacts.
Result<ChildRun> RankInChild(const Subject& subject, const std::string& requests) {
  const EngineOptions& engine = subject.options.engine;
  std::vector<std::string> arguments = {subject.options.binary,
                                        "rank",
                                        "--model",
                                        subject.options.model,
                                        "--requests",
                                        requests,
                                        "--artifacts",
                                        subject.options.artifacts,
                                        "--dtype",
                                        subject.metadata.dtype,
                                        "--kv-dtype",
                                        subject.metadata.kv_dtype,
                                        "--page-size",
                                        std::to_string(subject.metadata.page_size),
                                        "--threads",
                                        std::to_string(subject.threads)};
  if (engine.kv_cache) arguments.emplace_back("--kv-cache");
  if (engine.kv_pages > 0) {
    arguments.insert(arguments.end(), {"--kv-pages", std::to_string(engine.kv_pages)});
  }
  if (engine.kv_bytes > 0) {
    arguments.insert(arguments.end(), {"--kv-bytes", std::to_string(engine.kv_bytes)});
  }
  HSTU_ASSIGN_OR_RETURN(const ChildRun run, RunChild(arguments));
  if (run.status != 0 && run.status != kExitAnswered) {
    return MakeError(ErrorCode::kIo, "{} rank ended with status {}", subject.options.binary,
                     run.status);
  }
  return run;
}

// The first line of the file alone, in a file of its own.
Result<std::string> FirstRequest(const std::string& requests) {
  HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(requests));
  const std::string_view text = file.text();
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("hstu_accept.{}.jsonl", getpid()))
          .string();
  HSTU_RETURN_IF_ERROR(WriteWholeFile(path, std::string(text.substr(0, text.find('\n'))) + "\n"));
  return path;
}

}  // namespace

Result<Metric> CheckColdStart(const Subject& subject) {
  HSTU_ASSIGN_OR_RETURN(const std::string first, FirstRequest(subject.options.requests));
  std::vector<double> seconds;
  Status status;
  for (int i = 0; i < kStarts && status.ok(); ++i) {
    const Result<ChildRun> run = RankInChild(subject, first);
    status = run.ok() ? Status() : Status(run.error());
    if (run.ok()) seconds.push_back(run->first_line_seconds);
  }
  std::error_code ignored;
  std::filesystem::remove(first, ignored);
  if (!status.ok()) return status.error();
  const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
  return Metric{
      "cold_start",
      "From a process's start to its first logits",
      "s",
      LimitSide::kAtMost,
      Median(seconds),
      {},
      fmt::format("median of {} starts, {:.3f} to {:.3f} s", kStarts, *fastest, *slowest)};
}

Result<Metric> CheckPeakMemory(const Subject& subject, std::optional<double> given,
                               const EngineStats& stats) {
  const auto held = static_cast<double>(stats.weight_bytes + stats.arena_bytes + stats.kv_bytes);
  const bool is_given = given.value_or(0.0) > 0.0;
  const double budget = is_given ? *given : kBudgetFactor * held + kBudgetRest;
  const std::string how =
      is_given ? "the given budget"
               : fmt::format("1.25 x (weights {:.1f}, arenas {:.1f}, cache {:.1f} MB) + 64 MB",
                             static_cast<double>(stats.weight_bytes) / 1e6,
                             static_cast<double>(stats.arena_bytes) / 1e6,
                             static_cast<double>(stats.kv_bytes) / 1e6);
  HSTU_ASSIGN_OR_RETURN(const ChildRun run, RankInChild(subject, subject.options.requests));
  const auto peak = static_cast<double>(run.peak_bytes);
  return Metric{"peak_memory",
                "Peak memory, of the budget",
                "",
                LimitSide::kAtMost,
                peak / budget,
                {},
                fmt::format("{:.1f} MB of {:.1f} MB: {}", peak / 1e6, budget / 1e6, how)};
}

}  // namespace hstu
