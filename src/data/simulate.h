// Replays users' days as requests to a ranking service: AUC, what a KV cache saves, and what it
// costs.
#ifndef HSTU_DATA_SIMULATE_H_
#define HSTU_DATA_SIMULATE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/auc.h"
#include "data/scorer.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct SimulateOptions {
  std::string data;  // a folder with processed_seqs_inference.csv and processed_batches.csv

  // Of the model.
  std::string item_feature;
  std::optional<std::string> action_feature;     // nothing: the model sees no actions
  std::vector<std::string> contextual_features;  // that are sent; columns of the file
  std::int64_t num_tasks = 1;
  std::vector<std::string> task_names;  // empty: names by default
  std::int64_t max_history_tokens = 1;
  std::int64_t max_num_candidates = 1;

  bool days_apart = false;     // a day's history begins with the day
  std::int64_t max_batch = 1;  // requests in one call of the scorer
  bool auc = true;
  std::optional<std::int64_t> positive_rating;  // as in EvalOptions
};

// How long the scorer took.
struct RunReport {
  double seconds = 0;
  std::int64_t batches = 0;
  double batch_p50 = 0;
  double batch_p99 = 0;
};

// What one tier of the cache had of the requests' histories.
struct TierReport {
  std::string name;
  std::int64_t hits = 0;    // requests of which it had something
  std::int64_t tokens = 0;  // that were not computed
};

// The same requests answered without a cache. An answer is evicted where either answer could not
// see the oldest tokens: these may differ, see docs/simulate.md.
struct ComparisonReport {
  RunReport run;
  std::int64_t answers = 0;       // that are not evicted
  std::int64_t different = 0;     // of these, not the same bits
  double largest_difference = 0;  // of these, between two logits
  std::int64_t evicted = 0;       // answers
  double largest_evicted_difference = 0;
};

struct SimulatedTask {
  std::string name;
  Auc auc;
};

struct SimulateReport {
  std::vector<SimulatedTask> tasks;  // empty without AUC
  std::int64_t users = 0;
  std::int64_t requests = 0;
  std::int64_t skipped = 0;  // intervals without a row
  std::int64_t resent = 0;   // requests sent again whole, because their user was evicted
  std::int64_t candidates = 0;
  // Contextual, history and candidates' tokens that the answers took into account.
  std::int64_t tokens_asked = 0;
  std::int64_t tokens_computed = 0;
  std::int64_t history_tokens = 0;   // of those asked
  std::int64_t evicted_answers = 0;  // that could not see a user's oldest tokens
  std::vector<TierReport> tiers;
  std::optional<double> cache_seconds;  // spent managing the cache; the caller knows
  RunReport run;
  std::optional<ComparisonReport> comparison;
};

// `scorer` keeps users' histories if `cached`: then a history over max_history_tokens is sent as
// what is new. It has to truncate whole histories. `uncached`: another scorer for the same
// requests; empty: nothing is compared.
//
// Memory: some hundred bytes a user and day, and 4 bytes a candidate and task for AUC; items,
// intervals and the logits to compare lie in temporary files.
Result<SimulateReport> Simulate(const SimulateOptions& options, const Scorer& scorer, bool cached,
                                const Scorer& uncached);

// What a terminal shows.
std::string SimulateTable(const SimulateReport& report);

// All of it, for --json: AUCs are null where a task has one class.
nlohmann::ordered_json SimulateJson(const SimulateReport& report);

}  // namespace hstu

#endif  // HSTU_DATA_SIMULATE_H_
