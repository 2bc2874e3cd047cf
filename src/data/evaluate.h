// Evaluates a ranking model on processed files: AUC of every task, beside two baselines.
#ifndef HSTU_DATA_EVALUATE_H_
#define HSTU_DATA_EVALUATE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/auc.h"
#include "data/scorer.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct EvalOptions {
  std::string data;  // a folder with processed_seqs.csv, or such a file

  // Of the model.
  std::string item_feature;
  std::optional<std::string> action_feature;     // nothing: the model sees no actions
  std::vector<std::string> contextual_features;  // that are sent; columns of the file
  std::int64_t num_tasks = 1;
  std::vector<std::string> task_names;  // empty: names by default

  // Which interactions are scored.
  bool all_users = false;        // also those before the last n - int(0.7 n)
  bool keep_oldest = false;      // cut a sequence to its first max_history + candidates items
  std::int64_t candidates = 1;   // the last items of a user
  std::int64_t max_history = 1;  // most items before them that are shown to the model
  // The least code of `rating` that is positive; nothing: 4 stars on the scale that the codes show.
  std::optional<std::int64_t> positive_rating;

  std::int64_t step_tokens = 8192;  // most tokens in one call of the scorer, unless a user has more
};

struct TaskReport {
  std::string name;
  Auc model;
  Auc popularity;   // score: known positive interactions of all users with the item
  Auc last_action;  // score: whether the user's newest known action was positive
};

struct EvalReport {
  std::vector<TaskReport> tasks;
  std::int64_t file_users = 0;      // in the file
  std::int64_t eligible_users = 0;  // that have more items than candidates
  std::int64_t users = 0;           // that were scored
  std::int64_t candidates = 0;
  std::int64_t tokens = 0;
  std::int64_t steps = 0;
  double seconds = 0;  // in the scorer
  double step_p50 = 0;
  double step_p99 = 0;
};

// Memory: the popularity counts, and 4 bytes a candidate and task.
Result<EvalReport> Evaluate(const EvalOptions& options, const Scorer& scorer);

// What a terminal shows.
std::string EvalTable(const EvalReport& report);

// All of it, for --json: AUCs are null where a task has one class.
nlohmann::ordered_json EvalJson(const EvalReport& report);

}  // namespace hstu

#endif  // HSTU_DATA_EVALUATE_H_
