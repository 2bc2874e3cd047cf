// Requests in, steps run, answers out: joins model, cache and workspace.
#ifndef HSTU_ENGINE_RANKER_H_
#define HSTU_ENGINE_RANKER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "base/trace.h"
#include "cache/kv_cache.h"
#include "engine/artifact_steps.h"
#include "engine/batch.h"
#include "engine/cached_history.h"
#include "engine/forward.h"
#include "engine/rank_groups.h"
#include "engine/sequence.h"
#include "engine/user_tiers.h"
#include "engine/workspace.h"
#include "hstu/hstu.hpp"
#include "kernels/operators.h"
#include "model/model.h"
#include "model/model_operators.h"

namespace hstu {

class Ranker : private LayerObserver {
 public:
  // `artifacts` may be null.
  Ranker(Model model, const EngineOptions& options, const Operators& operators,
         ModelOperators model_operators, std::unique_ptr<Artifacts> artifacts, Workspace workspace,
         std::optional<KvCache> cache, std::unique_ptr<TierStack> tiers,
         std::unique_ptr<CacheLog> log, int threads, RankGroups groups);

  // See Engine, whose functions these are.
  std::vector<Answer> Rank(std::span<const Request> requests);
  Status WarmUp(std::span<const Request> requests);
  std::int64_t num_tasks() const { return model_.config().num_tasks(); }
  EngineStats stats() const;
  void WaitForSaves();
  void ForgetUsers();
  std::string DescribeCache(const std::optional<std::string>& user_id) const;
  std::string ProfileTrace() const;
  std::string ProfileTable() const;

 private:
  // Where a sequence stands before it is computed.
  struct Planned {
    HistoryPlan history;
    UserState* user = nullptr;         // pinned, in the cache; null: nobody's
    bool wait = false;                 // others have to end first
    bool look_up = false;              // the tiers have to be asked for the user first
    std::shared_ptr<Arrival> arrival;  // of the user; null: all is there
    std::optional<Sequence> original;  // as it was before it was planned, where there is an arrival
  };
  // A sequence of the running step.
  struct Member {
    Sequence* sequence;
    Planned planned;
  };
  // Of each piece of the running step.
  struct StepUser {
    UserState* user = nullptr;
    Arrival* arrival = nullptr;
  };

  Result<Sequence> Resolve(const Request& request, int64_t index) const;
  // Looks for users who are not in the pool in the tiers from `tier` on.
  void LookUp(std::span<Sequence> sequences, size_t tier, std::unique_lock<std::mutex>* lock);
  Result<Planned> Plan(Sequence* sequence);
  Result<Planned> PlanFromTiers(Sequence* sequence);
  Result<Planned> PlanFound(const TierStack::Found& found, Sequence* sequence);
  Result<Planned> PlanCached(Sequence* sequence);
  Result<HistoryPlan> PlanUncached(const Sequence& sequence) const;
  std::vector<StageMemory> MemoryOf(UserState* user) const;
  void SizeAnswer(const Sequence& sequence, const HistoryPlan& plan, Answer* answer) const;
  size_t RunStep(std::vector<Sequence>* sequences, size_t next, size_t tier,
                 std::vector<Answer>* answers);
  bool EndMember(const Planned& planned);
  void RunAgain(const Planned& planned, std::vector<Answer>* answers);
  bool RoomFor(const Sequence& sequence) const;
  void WaitForOthers(std::unique_lock<std::mutex>* lock);
  void RunInChunks(const Sequence& sequence, const Planned& planned,
                   std::unique_lock<std::mutex>* lock, Answer* answer);
  bool RunForward();
  void BeginLayer(int64_t layer) override;
  void BeginAttention(int64_t layer) override;
  void WroteRows(int64_t layer, const Piece& piece, int64_t position, int64_t count) override;
  void EndLayer(int64_t layer) override;
  void LogReads(int64_t layer);
  void CopyLogits(const Piece& piece, Answer* answer) const;

  const Model model_;
  const EngineOptions options_;
  const Operators operators_;
  const ModelOperators model_operators_;
  ThreadPool pool_;
  ArtifactSteps artifact_steps_;
  Workspace workspace_;
  Batcher batcher_;
  const std::unique_ptr<Trace> trace_;
  const std::unique_ptr<ForwardRanks> ranks_;  // null: this rank alone computes its steps
  Forward forward_;
  std::optional<KvCache> cache_;
  std::optional<CachedHistory> cached_history_;
  const std::unique_ptr<CacheLog> log_;  // null: none
  std::unique_ptr<UserTiers> tiers_;     // null: none
  std::vector<StepUser> step_users_;
  std::vector<int64_t> tier_tokens_;  // of each tier, not computed thanks to it
  std::mutex chunk_mutex_;         // held for a whole sequence; never waited for under step_mutex_
  mutable std::mutex step_mutex_;  // workspace, pool, cache and stats_
  EngineStats stats_;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_RANKER_H_
