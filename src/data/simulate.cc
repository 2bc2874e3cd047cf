#include "data/simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/latency_histogram.h"
#include "base/progress.h"
#include "data/answer_comparison.h"
#include "data/label_column.h"
#include "data/replay.h"
#include "data/replay_requests.h"
#include "data/sequence_files.h"
#include "data/task_labels.h"
#include "data/user_days.h"

namespace hstu {
namespace {

Result<std::string> FindFile(const std::string& folder, const char* name) {
  std::string path = (std::filesystem::path(folder) / name).string();
  if (std::filesystem::exists(path)) return path;
  return MakeError(ErrorCode::kIo, "{} is not there; `hstu preprocess --inference` makes it", path);
}

// One answer of a run, with the moment that it is for.
using Take = std::function<Status(const ReplayMoment&, const Answer&)>;

// Sends the requests of a replay, batch by batch.
class Run {
 public:
  Run(const SimulateOptions& options, const UserDays& days, const Replay& replay,
      const Scorer& scorer, bool continues)
      : options_(options),
        days_(days),
        replay_(replay),
        scorer_(scorer),
        requests_(options, days, continues) {}

  Result<RunReport> Play(const char* label, const Take& take) {
    const auto moments = replay_.moments();
    Progress progress(label, static_cast<std::int64_t>(moments.size()), "requests");
    const auto most = static_cast<std::size_t>(options_.max_batch);
    for (std::size_t begin = 0; begin < moments.size(); begin += most) {
      const auto batch = moments.subspan(begin, std::min(most, moments.size() - begin));
      const std::vector<Answer> answers = Send(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        HSTU_RETURN_IF_ERROR(Check(batch[i], answers[i]));
        HSTU_RETURN_IF_ERROR(take(batch[i], answers[i]));
      }
      progress.Update(static_cast<std::int64_t>(begin + batch.size()));
    }
    report_.batches = latency_.count();
    report_.batch_p50 = latency_.Quantile(0.5);
    report_.batch_p99 = latency_.Quantile(0.99);
    return report_;
  }

  std::int64_t resent() const { return resent_; }
  const ReplayRequests& requests() const { return requests_; }

 private:
  // The answers; what the scorer no longer knew is sent again, whole.
  std::vector<Answer> Send(std::span<const ReplayMoment> batch) {
    std::vector<Request> requests;
    for (const ReplayMoment& moment : batch) requests.push_back(requests_.Next(moment));
    double seconds = 0;
    std::vector<Answer> answers = Timed(requests, &seconds);
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto& error = answers[i].error;
      if (error && error->code == ErrorCode::kHistoryNotCached) unknown.push_back(i);
    }
    if (!unknown.empty()) {
      requests.clear();
      for (std::size_t i : unknown) requests.push_back(requests_.Whole(batch[i]));
      std::vector<Answer> again = Timed(requests, &seconds);
      for (std::size_t i = 0; i < unknown.size(); ++i) answers[unknown[i]] = std::move(again[i]);
      resent_ += static_cast<std::int64_t>(unknown.size());
    }
    latency_.Add(seconds);
    report_.seconds += seconds;
    return answers;
  }

  std::vector<Answer> Timed(std::span<const Request> requests, double* seconds) const {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Answer> answers = scorer_(requests);
    *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answers;
  }

  Status Check(const ReplayMoment& moment, const Answer& answer) const {
    const std::int64_t line = days_.row(moment.row).line;
    if (answer.error) {
      return MakeError(answer.error->code, "{}:{}: {}", days_.path(), line, answer.error->message);
    }
    if (std::any_of(answer.logits.begin(), answer.logits.end(),
                    [](float logit) { return std::isnan(logit); })) {
      return MakeError(ErrorCode::kBadModel, "{}:{}: a candidate got the logit NaN", days_.path(),
                       line);
    }
    return {};
  }

  const SimulateOptions& options_;
  const UserDays& days_;
  const Replay& replay_;
  const Scorer& scorer_;
  ReplayRequests requests_;
  LatencyHistogram latency_;
  RunReport report_;
  std::int64_t resent_ = 0;
};

// The scores of all tasks.
class TaskAucs {
 public:
  explicit TaskAucs(TaskLabels labels)
      : labels_(labels), scores_(static_cast<std::size_t>(labels.num_tasks())) {}

  void Add(const std::vector<std::int64_t>& actions, const Answer& answer) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      for (std::size_t task = 0; task < scores_.size(); ++task) {
        scores_[task].Add(answer.logits[i * scores_.size() + task],
                          labels_.Positive(actions[i], static_cast<std::int64_t>(task)));
      }
    }
  }

  std::vector<SimulatedTask> Finish(const std::vector<std::string>& task_names) {
    const auto names = task_names.empty() ? labels_.DefaultNames() : task_names;
    std::vector<SimulatedTask> tasks;
    for (std::size_t task = 0; task < scores_.size(); ++task) {
      tasks.push_back({names[task], scores_[task].Compute()});
    }
    return tasks;
  }

 private:
  TaskLabels labels_;
  std::vector<ScoreAuc> scores_;
};

class Simulation {
 public:
  Simulation(const SimulateOptions& options, const UserDays& days, const Replay& replay)
      : options_(options), days_(days), replay_(replay) {
    report_.users = days.num_users();
    report_.skipped = replay.skipped();
    report_.tiers = {{"pool", 0, 0}};
  }

  Result<SimulateReport> Play(const Scorer& scorer, bool cached, std::optional<TaskLabels> labels,
                              const Scorer& uncached) {
    if (labels) aucs_.emplace(*labels);
    if (uncached) {
      HSTU_ASSIGN_OR_RETURN(AnswerComparison comparison, AnswerComparison::Create());
      comparison_.emplace(std::move(comparison));
    }
    Run run(options_, days_, replay_, scorer, cached);
    HSTU_ASSIGN_OR_RETURN(report_.run,
                          run.Play("replaying", [&](const auto& moment, const auto& answer) {
                            return Count(run.requests(), moment, answer);
                          }));
    report_.resent = run.resent();
    if (aucs_) report_.tasks = aucs_->Finish(options_.task_names);
    if (uncached) HSTU_RETURN_IF_ERROR(CompareWith(uncached));
    return report_;
  }

 private:
  Status Count(const ReplayRequests& requests, const ReplayMoment& moment, const Answer& answer) {
    const auto candidates = static_cast<std::int64_t>(answer.logits.size()) /
                            std::max<std::int64_t>(1, answer.num_tasks);
    const std::int64_t history = requests.HistoryTokens(moment) - answer.evicted_tokens;
    ++report_.requests;
    report_.candidates += candidates;
    report_.history_tokens += history;
    report_.tokens_asked += history + candidates;
    report_.tokens_computed += history + candidates - answer.cached_tokens;
    report_.evicted_answers += answer.evicted_tokens > 0 ? 1 : 0;
    report_.tiers[0].hits += answer.cached_tokens > 0 ? 1 : 0;
    report_.tiers[0].tokens += answer.cached_tokens;
    if (aucs_) aucs_->Add(requests.CandidateActions(moment), answer);
    return comparison_ ? comparison_->Record(answer) : Status();
  }

  Status CompareWith(const Scorer& uncached) {
    HSTU_RETURN_IF_ERROR(comparison_->EndRecord());
    ComparisonReport compared;
    Run run(options_, days_, replay_, uncached, false);
    HSTU_ASSIGN_OR_RETURN(compared.run,
                          run.Play("without the cache", [&](const auto&, const Answer& answer) {
                            comparison_->Compare(answer, &compared);
                            return Status();
                          }));
    report_.comparison = compared;
    return {};
  }

  const SimulateOptions& options_;
  const UserDays& days_;
  const Replay& replay_;
  std::optional<TaskAucs> aucs_;
  std::optional<AnswerComparison> comparison_;
  SimulateReport report_;
};

}  // namespace

Result<SimulateReport> Simulate(const SimulateOptions& options, const Scorer& scorer, bool cached,
                                const Scorer& uncached) {
  HSTU_ASSIGN_OR_RETURN(const std::string path, FindFile(options.data, kInferenceFile));
  HSTU_ASSIGN_OR_RETURN(const std::string batches, FindFile(options.data, kBatchesFile));
  UserDaysColumns columns{options.item_feature, options.action_feature,
                          options.contextual_features};
  std::optional<TaskLabels> labels;
  if (options.auc) {
    HSTU_ASSIGN_OR_RETURN(columns.actions, FindLabelColumn(path, options.action_feature));
    HSTU_ASSIGN_OR_RETURN(
        labels, ChooseLabels(path, *columns.actions, options.num_tasks, options.positive_rating));
  }
  HSTU_ASSIGN_OR_RETURN(const UserDays days, UserDays::Open(path, columns));
  HSTU_ASSIGN_OR_RETURN(const Replay replay, Replay::Open(batches, days));
  if (replay.moments().empty()) {
    return MakeError(ErrorCode::kBadData, "{}: none of its {} intervals has a row in {}", batches,
                     replay.skipped(), path);
  }
  return Simulation(options, days, replay).Play(scorer, cached, labels, uncached);
}

}  // namespace hstu
