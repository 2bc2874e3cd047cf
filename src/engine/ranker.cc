#include "engine/ranker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/allocation_count.h"
#include "base/error.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

constexpr int64_t kTraceEvents = int64_t{1} << 20;  // of each thread

// Adds the time that it lives to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Ranker::Ranker(Model model, const EngineOptions& options, const Operators& operators,
               Workspace workspace, std::optional<KvCache> cache, int threads)
    : model_(std::move(model)),
      options_(options),
      operators_(operators),
      pool_(threads),
      workspace_(std::move(workspace)),
      batcher_(model_.config(), options_.chunk_tokens, &workspace_),
      trace_(options_.profile ? std::make_unique<Trace>(threads, kTraceEvents) : nullptr),
      forward_(model_, operators_, options_.last_layer_all_rows, &pool_, &workspace_, trace_.get()),
      cache_(std::move(cache)) {
  if (cache_) cached_history_.emplace(model_.config(), options_.truncate, &*cache_);
}

std::vector<Answer> Ranker::Rank(std::span<const Request> requests) {
  std::vector<Answer> answers(requests.size());
  std::vector<Sequence> sequences;
  sequences.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Result<Sequence> sequence = Resolve(requests[i], static_cast<int64_t>(i));
    if (sequence.ok()) {
      sequences.push_back(std::move(sequence).value());
    } else {
      answers[i].error = sequence.error();
    }
  }
  size_t next = 0;
  while (next < sequences.size()) next = RunStep(&sequences, next, &answers);
  return answers;
}

Result<Sequence> Ranker::Resolve(const Request& request, int64_t index) const {
  HSTU_ASSIGN_OR_RETURN(UserTokens tokens,
                        ResolveTokens(model_.files(), request, options_.disable_context));
  const bool cached = cache_.has_value() && request.user_id.has_value();
  return Sequence{index, std::move(tokens), cached ? request.user_id : std::nullopt,
                  request.history_start};
}

// Decides what to compute of a sequence.
Result<Ranker::Planned> Ranker::Plan(Sequence* sequence) {
  if (!sequence->user_id) {
    HSTU_ASSIGN_OR_RETURN(const HistoryPlan plan, PlanUncached(*sequence));
    return Planned{plan, nullptr, false};
  }
  const Stopwatch managing(stats_.kv_manage_seconds);
  // Another request of the user runs: it goes first.
  const UserState* known = cache_->Find(*sequence->user_id);
  if (known != nullptr && known->pins > 0) return Planned{{}, nullptr, true};
  HSTU_ASSIGN_OR_RETURN(const CachedPlan plan, cached_history_->Plan(sequence));
  return Planned{plan.history, plan.user, plan.user == nullptr};
}

Result<HistoryPlan> Ranker::PlanUncached(const Sequence& sequence) const {
  if (sequence.history_start.value_or(0) != 0) {
    return MakeError(ErrorCode::kHistoryNotCached,
                     "history_start {}: 0 items of the user are known without a KV cache; send the "
                     "whole history",
                     *sequence.history_start);
  }
  if (sequence.tokens.context_error) return *sequence.tokens.context_error;
  const int64_t tokens = sequence.tokens.history_tokens();
  const bool truncate = options_.truncate && !sequence.history_start.has_value();
  HSTU_RETURN_IF_ERROR(
      CheckHistoryLength(model_.config(), tokens, truncate, !sequence.history_start.has_value()));
  const std::vector<Stage>& stages = model_.config().stages;
  const int64_t skip = TokensToDrop(tokens, model_.config().max_history_tokens,
                                    EvictionUnit(stages, options_.page_size));
  return PlanFresh(stages, skip, tokens);
}

std::vector<StageMemory> Ranker::MemoryOf(UserState* user) const {
  std::vector<StageMemory> memory;
  const PagePool& pool = cache_->pool();
  for (size_t i = 0; i < user->stages.size(); ++i) {
    UserStage& stage = user->stages[i];
    memory.push_back(PoolMemory(pool.layout(), i, pool.keys(), pool.values(), stage.table.data(),
                                stage.first, stage.waiting.data(),
                                stage.open.empty() ? nullptr : stage.open.data()));
  }
  return memory;
}

void Ranker::SizeAnswer(const Sequence& sequence, const HistoryPlan& plan, Answer* answer) const {
  const ModelConfig& config = model_.config();
  const auto context = static_cast<int64_t>(sequence.tokens.contextual.size());
  answer->num_tasks = config.num_tasks();
  answer->logits.resize(sequence.num_candidates() * config.num_tasks());
  answer->history_items = (plan.tokens().end - context) / config.tokens_per_item();
  answer->cached_tokens = std::max<int64_t>(0, plan.tokens().resume - plan.tokens().first);
  answer->evicted_tokens = plan.tokens().first;
}

// Runs one step of as many sequences from `next` on as fit; returns the first that is left.
size_t Ranker::RunStep(std::vector<Sequence>* sequences, size_t next,
                       std::vector<Answer>* answers) {
  std::unique_lock lock(step_mutex_);
  batcher_.Clear();
  std::vector<Member> members;
  for (; next < sequences->size(); ++next) {
    Sequence& sequence = (*sequences)[next];
    Answer* answer = &(*answers)[sequence.request];
    // Room for the whole of it, before a plan binds pages.
    if (!members.empty() && !RoomFor(sequence)) break;
    const Result<Planned> planned = Plan(&sequence);
    if (!planned.ok()) {
      answer->error = planned.error();
      continue;
    }
    if (planned->wait) {
      if (members.empty()) WaitForOthers(&lock);
      break;
    }
    SizeAnswer(sequence, planned->history, answer);
    if (batcher_.NeedsChunks(sequence, planned->history)) {
      RunInChunks(sequence, planned.value(), &lock, answer);
      return next + 1;
    }
    std::vector<StageMemory> memory;
    if (planned->user != nullptr) memory = MemoryOf(planned->user);
    batcher_.AddWhole(sequence, planned->history, memory);
    members.push_back({&sequence, planned->user});
  }
  if (members.empty()) return next;
  RunForward();
  for (size_t i = 0; i < members.size(); ++i) {
    CopyLogits(workspace_.pieces[i], &(*answers)[members[i].sequence->request]);
    if (members[i].user != nullptr) KvCache::Unpin(members[i].user);
  }
  return next;
}

// Whether the step takes the sequence even if nothing of it is cached.
bool Ranker::RoomFor(const Sequence& sequence) const {
  const HistoryPlan whole = PlanFresh(model_.config().stages, 0, sequence.tokens.history_tokens());
  return !batcher_.NeedsChunks(sequence, whole) &&
         batcher_.Fits(sequence, whole, sequence.user_id.has_value());
}

// Pins are held beyond a step only by a sequence in chunks, which holds the other lock.
void Ranker::WaitForOthers(std::unique_lock<std::mutex>* lock) {
  lock->unlock();
  const std::lock_guard chunks(chunk_mutex_);
}

// Others' steps may run between two chunks; another sequence in chunks waits. `lock` is the step's;
// it is free at the end.
void Ranker::RunInChunks(const Sequence& sequence, const Planned& planned,
                         std::unique_lock<std::mutex>* lock, Answer* answer) {
  lock->unlock();
  const std::lock_guard chunks(chunk_mutex_);
  std::vector<StageMemory> memory;
  for (size_t i = 0; planned.user == nullptr && i < planned.history.stages.size(); ++i) {
    memory.push_back(workspace_.SequenceMemory(i, planned.history.stages[i].first));
  }
  if (planned.user != nullptr) memory = MemoryOf(planned.user);
  ChunkProgress progress(planned.history);
  do {
    lock->lock();
    batcher_.SetChunk(sequence, planned.history, memory, &progress);
    RunForward();
    CopyLogits(workspace_.pieces[0], answer);
    lock->unlock();
  } while (!progress.Done(sequence, planned.history));
  lock->lock();
  if (planned.user != nullptr) KvCache::Unpin(planned.user);
  lock->unlock();
}

void Ranker::RunForward() {
  batcher_.NumberRows();
  const int64_t before = allocation_count.load(std::memory_order_relaxed);
  forward_.Run();
  stats_.step_allocations += allocation_count.load(std::memory_order_relaxed) - before;
  ++stats_.steps;
  for (const Piece& piece : workspace_.pieces) {
    stats_.tokens += piece.stages[0].history_count + piece.candidate_count;
  }
}

void Ranker::CopyLogits(const Piece& piece, Answer* answer) const {
  const int64_t tasks = answer->num_tasks;
  std::copy_n(workspace_.logits + piece.candidate_row * tasks, piece.candidate_count * tasks,
              answer->logits.begin() + piece.candidate_first * tasks);
}

EngineStats Ranker::stats() const {
  const std::lock_guard lock(step_mutex_);
  EngineStats stats = stats_;
  stats.arena_bytes = workspace_.arena_bytes();
  stats.weight_bytes = model_.packed_bytes();
  if (cache_) {
    stats.kv_bytes = cache_->pool().layout().Bytes();
    stats.kv_users = cache_->num_users();
    stats.kv_users_evicted = cache_->counters().users_evicted;
    stats.kv_tokens_evicted = cache_->counters().tokens_evicted;
  }
  return stats;
}

std::string Ranker::ProfileTrace() const {
  const std::lock_guard lock(step_mutex_);
  return trace_ == nullptr ? std::string() : trace_->ToChromeJson();
}

std::string Ranker::ProfileTable() const {
  const std::lock_guard lock(step_mutex_);
  if (trace_ == nullptr) return {};
  std::string table = FormatTotals(trace_->Totals());
  if (trace_->dropped() > 0) table += fmt::format("{} later calls left out\n", trace_->dropped());
  return table;
}

}  // namespace hstu
