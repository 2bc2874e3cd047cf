#include "data/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/latency_histogram.h"
#include "base/progress.h"
#include "data/label_column.h"
#include "data/processed_reader.h"
#include "data/sequence_files.h"
#include "data/task_labels.h"

namespace hstu {
namespace {

// Known positive interactions with every item.
class Popularity {
 public:
  explicit Popularity(TaskLabels labels) : labels_(labels) {}

  void Count(std::int64_t item, std::int64_t action) {
    auto tasks = static_cast<std::size_t>(labels_.num_tasks());
    auto [at, added] = index_.try_emplace(item, static_cast<std::uint32_t>(index_.size()));
    if (added) counts_.resize(counts_.size() + tasks);
    std::uint32_t* counts = counts_.data() + at->second * tasks;
    for (std::size_t task = 0; task < tasks; ++task) {
      counts[task] += labels_.Positive(action, static_cast<std::int64_t>(task));
    }
  }

  std::int64_t Of(std::int64_t item, std::int64_t task) const {
    auto at = index_.find(item);
    if (at == index_.end()) return 0;
    auto tasks = static_cast<std::size_t>(labels_.num_tasks());
    return counts_[at->second * tasks + static_cast<std::size_t>(task)];
  }

 private:
  TaskLabels labels_;
  std::unordered_map<std::int64_t, std::uint32_t> index_;
  std::vector<std::uint32_t> counts_;  // [items, tasks]
};

// The parts of a sequence: history [history_begin, begin), candidates [begin, end).
struct Cut {
  std::size_t history_begin = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Cut CutSequence(std::size_t items, const EvalOptions& options) {
  auto candidates = static_cast<std::size_t>(options.candidates);
  auto history = static_cast<std::size_t>(options.max_history);
  Cut cut;
  cut.end = options.keep_oldest ? std::min(items, history + candidates) : items;
  cut.begin = cut.end - candidates;
  cut.history_begin = cut.begin > history ? cut.begin - history : 0;
  return cut;
}

// Reads a processed file as users with items and actions.
class Users {
 public:
  static Result<Users> Open(const std::string& path, const EvalOptions& options,
                            const std::string& action_column) {
    ProcessedColumns columns;
    columns.values = options.contextual_features;
    columns.lists = {options.item_feature, action_column};
    HSTU_ASSIGN_OR_RETURN(ProcessedReader reader, ProcessedReader::Open(path, columns));
    return Users(std::move(reader));
  }

  Result<bool> Next() {
    HSTU_ASSIGN_OR_RETURN(bool more, reader_.Next(&row_));
    if (more && items().size() != actions().size()) {
      return MakeError(ErrorCode::kBadData, "{}:{}: the user has {} items and {} actions",
                       reader_.file().path(), row_.line, items().size(), actions().size());
    }
    return more;
  }

  std::int64_t line() const { return row_.line; }
  const std::vector<std::int64_t>& contextual() const { return row_.values; }
  const std::vector<std::int64_t>& items() const { return row_.lists[0]; }
  const std::vector<std::int64_t>& actions() const { return row_.lists[1]; }

 private:
  explicit Users(ProcessedReader reader) : reader_(std::move(reader)) {}
  ProcessedReader reader_;
  ProcessedRow row_;
};

// The AUCs of one task while they are collected.
struct TaskScores {
  ScoreAuc model;
  CountAuc popularity;
  CountAuc last_action;
};

class Evaluation {
 public:
  Evaluation(const EvalOptions& options, const Scorer& scorer, std::string path,
             std::string action_column, TaskLabels labels)
      : options_(options),
        scorer_(scorer),
        path_(std::move(path)),
        action_column_(std::move(action_column)),
        labels_(labels),
        popularity_(labels),
        tasks_(static_cast<std::size_t>(labels.num_tasks())) {}

  Result<EvalReport> Run() {
    HSTU_RETURN_IF_ERROR(Survey());
    if (report_.eligible_users == 0) {
      return MakeError(ErrorCode::kBadData,
                       "{}: none of its {} users has more than {} items; lower --candidates", path_,
                       report_.file_users, options_.candidates);
    }
    HSTU_RETURN_IF_ERROR(ScoreUsers());
    return Finish();
  }

 private:
  bool Eligible(const Users& users) const {
    return static_cast<std::int64_t>(users.items().size()) > options_.candidates;
  }

  // First pass: who can be evaluated, and how popular items are.
  Status Survey() {
    HSTU_ASSIGN_OR_RETURN(Users users, Users::Open(path_, options_, action_column_));
    Progress progress("reading " + path_, 0, "users");
    for (;;) {
      HSTU_ASSIGN_OR_RETURN(bool more, users.Next());
      if (!more) return {};
      progress.Update(++report_.file_users);
      if (!Eligible(users)) continue;
      ++report_.eligible_users;
      Cut cut = CutSequence(users.items().size(), options_);
      for (std::size_t i = 0; i < cut.begin; ++i) {
        popularity_.Count(users.items()[i], users.actions()[i]);
      }
    }
  }

  // Second pass: the users of the test set, in steps of bounded size.
  Status ScoreUsers() {
    HSTU_ASSIGN_OR_RETURN(Users users, Users::Open(path_, options_, action_column_));
    std::int64_t trained =
        options_.all_users
            ? 0
            : static_cast<std::int64_t>(0.7 * static_cast<double>(report_.eligible_users));
    Progress progress("evaluating", report_.eligible_users - trained, "users");
    for (std::int64_t eligible = 0;;) {
      HSTU_ASSIGN_OR_RETURN(bool more, users.Next());
      if (!more) break;
      if (!Eligible(users) || eligible++ < trained) continue;
      HSTU_RETURN_IF_ERROR(AddUser(users));
      progress.Update(report_.users);
    }
    return Step();
  }

  Status AddUser(const Users& users) {
    Cut cut = CutSequence(users.items().size(), options_);
    Request request;
    for (std::size_t i = 0; i < options_.contextual_features.size(); ++i) {
      request.contextual.emplace_back(options_.contextual_features[i], users.contextual()[i]);
    }
    auto part = [](const std::vector<std::int64_t>& all, std::size_t begin, std::size_t end) {
      return std::vector<std::int64_t>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                       all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    request.items = part(users.items(), cut.history_begin, cut.begin);
    request.candidates = part(users.items(), cut.begin, cut.end);
    std::int64_t tokens = Tokens(request);
    if (!requests_.empty() && step_tokens_ + tokens > options_.step_tokens) {
      HSTU_RETURN_IF_ERROR(Step());
    }
    Labelled labelled;
    labelled.line = users.line();
    labelled.last_action = cut.begin > cut.history_begin ? users.actions()[cut.begin - 1] : 0;
    labelled.actions = part(users.actions(), cut.begin, cut.end);
    if (options_.action_feature) {
      request.actions = part(users.actions(), cut.history_begin, cut.begin);
    }
    requests_.push_back(std::move(request));
    labelled_.push_back(std::move(labelled));
    step_tokens_ += tokens;
    return {};
  }

  std::int64_t Tokens(const Request& request) const {
    std::size_t per_item = options_.action_feature ? 2 : 1;
    return static_cast<std::int64_t>(request.contextual.size() + per_item * request.items.size() +
                                     request.candidates.size());
  }

  // Scores the requests that wait.
  Status Step() {
    if (requests_.empty()) return {};
    auto begin = std::chrono::steady_clock::now();
    std::vector<Answer> answers = scorer_(requests_);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    latency_.Add(seconds);
    report_.seconds += seconds;
    report_.tokens += step_tokens_;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      HSTU_RETURN_IF_ERROR(AddAnswer(requests_[i], labelled_[i], answers[i]));
    }
    requests_.clear();
    labelled_.clear();
    step_tokens_ = 0;
    return {};
  }

  struct Labelled {
    std::int64_t line = 0;
    std::int64_t last_action = 0;
    std::vector<std::int64_t> actions;  // of the candidates
  };

  Status AddAnswer(const Request& request, const Labelled& labelled, const Answer& answer) {
    if (answer.error) {
      return MakeError(answer.error->code, "{}:{}: {}", path_, labelled.line,
                       answer.error->message);
    }
    for (std::size_t i = 0; i < request.candidates.size(); ++i) {
      for (std::size_t task = 0; task < tasks_.size(); ++task) {
        float logit = answer.logits[i * tasks_.size() + task];
        if (std::isnan(logit)) {
          return MakeError(ErrorCode::kBadModel, "{}:{}: candidate {} got the logit NaN", path_,
                           labelled.line, request.candidates[i]);
        }
        auto t = static_cast<std::int64_t>(task);
        bool positive = labels_.Positive(labelled.actions[i], t);
        tasks_[task].model.Add(logit, positive);
        tasks_[task].popularity.Add(popularity_.Of(request.candidates[i], t), positive);
        tasks_[task].last_action.Add(labels_.Positive(labelled.last_action, t), positive);
      }
    }
    report_.candidates += static_cast<std::int64_t>(request.candidates.size());
    ++report_.users;
    return {};
  }

  EvalReport Finish() {
    std::vector<std::string> names =
        options_.task_names.empty() ? labels_.DefaultNames() : options_.task_names;
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      report_.tasks.push_back({names[task], tasks_[task].model.Compute(),
                               tasks_[task].popularity.Compute(),
                               tasks_[task].last_action.Compute()});
    }
    report_.steps = latency_.count();
    report_.step_p50 = latency_.Quantile(0.5);
    report_.step_p99 = latency_.Quantile(0.99);
    return report_;
  }

  const EvalOptions& options_;
  const Scorer& scorer_;
  std::string path_;
  std::string action_column_;
  TaskLabels labels_;
  Popularity popularity_;
  std::vector<TaskScores> tasks_;
  EvalReport report_;
  LatencyHistogram latency_;
  std::vector<Request> requests_;
  std::vector<Labelled> labelled_;
  std::int64_t step_tokens_ = 0;
};

}  // namespace

Result<EvalReport> Evaluate(const EvalOptions& options, const Scorer& scorer) {
  std::string path = options.data;
  if (std::filesystem::is_directory(path)) path += std::string("/") + kTrainingFile;
  if (!std::filesystem::exists(path)) {
    return MakeError(ErrorCode::kIo, "{} is not there; `hstu preprocess --training` makes it",
                     path);
  }
  HSTU_ASSIGN_OR_RETURN(std::string action_column, FindLabelColumn(path, options.action_feature));
  HSTU_ASSIGN_OR_RETURN(TaskLabels labels, ChooseLabels(path, action_column, options.num_tasks,
                                                        options.positive_rating));
  return Evaluation(options, scorer, path, action_column, labels).Run();
}

}  // namespace hstu
