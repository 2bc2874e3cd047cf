#include "engine/ranker.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/allocation_count.h"
#include "base/error.h"
#include "engine/cache_report.h"
#include "engine/warm_up.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

constexpr int64_t kTraceEvents = int64_t{1} << 20;  // of each thread
// Sequences whose users are looked up ahead of a step: what is found waits in memory.
constexpr size_t kLookAhead = 64;

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

int64_t CachedTokens(const HistoryPlan& plan) {
  return std::max<int64_t>(0, plan.tokens().resume - plan.tokens().first);
}

}  // namespace

Ranker::Ranker(Model model, const EngineOptions& options, const Operators& operators,
               ModelOperators model_operators, std::unique_ptr<Artifacts> artifacts,
               Workspace workspace, std::optional<KvCache> cache, std::unique_ptr<TierStack> tiers,
               std::unique_ptr<CacheLog> log, int threads, RankGroups groups)
    : model_(std::move(model)),
      options_(options),
      operators_(operators),
      model_operators_(std::move(model_operators)),
      pool_(threads),
      artifact_steps_(std::move(artifacts)),
      workspace_(std::move(workspace)),
      batcher_(model_.config(), options_.chunk_tokens, artifact_steps_.artifacts(), &workspace_),
      trace_(options_.profile ? std::make_unique<Trace>(threads + kExchangeLanes, kTraceEvents)
                              : nullptr),
      ranks_(MakeForwardRanks(model_, options_, std::move(groups), trace_.get(), threads)),
      forward_(model_, model_operators_, options_.last_layer_all_rows, &pool_, &workspace_,
               trace_.get(), ranks_.get()),
      cache_(std::move(cache)),
      log_(std::move(log)) {
  if (!cache_) return;
  cached_history_.emplace(model_.config(), options_.truncate, &*cache_);
  step_users_.reserve(workspace_.pieces.capacity());
  if (tiers == nullptr) return;
  tier_tokens_.resize(tiers->size());
  tiers_ = std::make_unique<UserTiers>(
      std::move(tiers), options_.offload_chunk / options_.page_size, &*cache_, log_.get());
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
  while (next < sequences.size()) next = RunStep(&sequences, next, 0, &answers);
  return answers;
}

Status Ranker::WarmUp(std::span<const Request> requests) {
  std::unique_lock lock(step_mutex_);
  const EngineStats before = stats_;
  lock.unlock();
  const Artifacts* artifacts = artifact_steps_.artifacts();
  for (int64_t i = 0; artifacts != nullptr && i < artifacts->num_buckets(); ++i) {
    const BucketRecord& bucket = artifacts->record(i);
    const int64_t rows = std::min(workspace_.limits().tokens, bucket.rows);
    const StepSize size{std::min(bucket.seq_len, rows), bucket.batch, rows};
    const std::vector<Request> filled =
        WarmUpRequests(model_.config(), requests, size, options_.disable_context);
    if (filled.empty()) {
      return MakeError(ErrorCode::kBadArgument,
                       "warm-up: none of {} requests has items and all contextual features",
                       requests.size());
    }
    Rank(filled);
  }
  lock.lock();
  stats_ = before;
  artifact_steps_.ForgetCounts();
  return {};
}

Result<Sequence> Ranker::Resolve(const Request& request, int64_t index) const {
  HSTU_ASSIGN_OR_RETURN(UserTokens tokens,
                        ResolveTokens(model_.files(), request, options_.disable_context));
  const bool cached = cache_.has_value() && request.user_id.has_value();
  return Sequence{index, std::move(tokens), cached ? request.user_id : std::nullopt,
                  request.history_start, nullptr};
}

// Lets go of the lock meanwhile.
void Ranker::LookUp(std::span<Sequence> sequences, size_t tier,
                    std::unique_lock<std::mutex>* lock) {
  std::vector<TierLookup*> lookups;
  std::unordered_set<std::string_view> users;
  for (Sequence& sequence : sequences.first(std::min(sequences.size(), kLookAhead))) {
    if (!sequence.user_id || cache_->Find(*sequence.user_id) != nullptr) continue;
    // The first of the user's sequences brings the user into the pool.
    if (!users.insert(*sequence.user_id).second) continue;
    if (sequence.lookup != nullptr && !sequence.lookup->stale) continue;
    sequence.lookup = tiers_->BeginLookup(*sequence.user_id, tier);
    lookups.push_back(sequence.lookup.get());
  }
  if (lookups.empty()) return;
  lock->unlock();
  for (TierLookup* lookup : lookups) tiers_->Find(lookup);
  lock->lock();
}

// Decides what to compute of a sequence.
Result<Ranker::Planned> Ranker::Plan(Sequence* sequence) {
  Planned planned;
  if (!sequence->user_id) {
    HSTU_ASSIGN_OR_RETURN(planned.history, PlanUncached(*sequence));
    return planned;
  }
  const Stopwatch managing(stats_.kv_manage_seconds);
  // Another request of the user runs: it goes first.
  const UserState* known = cache_->Find(*sequence->user_id);
  planned.wait = known != nullptr && known->pins > 0;
  if (planned.wait) return planned;
  if (known == nullptr && tiers_ != nullptr) return PlanFromTiers(sequence);
  sequence->lookup.reset();
  HSTU_ASSIGN_OR_RETURN(planned, PlanCached(sequence));
  if (known != nullptr && !planned.wait) {
    ++stats_.kv_hits;
    stats_.kv_tokens += CachedTokens(planned.history);
  }
  return planned;
}

Result<Ranker::Planned> Ranker::PlanCached(Sequence* sequence) {
  HSTU_ASSIGN_OR_RETURN(const CachedPlan plan, cached_history_->Plan(sequence));
  Planned planned;
  planned.history = plan.history;
  planned.user = plan.user;
  planned.wait = plan.user == nullptr;
  return planned;
}

Result<Ranker::Planned> Ranker::PlanFromTiers(Sequence* sequence) {
  std::shared_ptr<TierLookup> lookup = std::move(sequence->lookup);
  if (lookup == nullptr || lookup->stale) {
    Planned planned;
    planned.look_up = true;
    return planned;
  }
  Result<Planned> planned =
      lookup->found ? PlanFound(*lookup->found, sequence) : PlanCached(sequence);
  if (planned.ok() && planned->wait) {
    sequence->lookup = std::move(lookup);
  } else {
    tiers_->Entered(*sequence->user_id);
  }
  return planned;
}

// As if the user were in the pool, but for the pages, which are filled while the step computes.
Result<Ranker::Planned> Ranker::PlanFound(const TierStack::Found& found, Sequence* sequence) {
  UserState* adopted = cache_->Adopt(found.header);
  if (adopted == nullptr) {
    Planned planned;
    planned.wait = true;
    return planned;
  }
  KvCache::Unpin(adopted);
  std::optional<Sequence> original = *sequence;
  Result<Planned> planned = PlanCached(sequence);
  if (!planned.ok() || planned->wait) {
    cache_->Erase(found.header.user_id);
    return planned;
  }
  planned->arrival = tiers_->Bring(found, *planned->user, planned->history);
  if (planned->arrival != nullptr) planned->original = std::move(original);
  tier_tokens_[found.tier] += CachedTokens(planned->history);
  return planned;
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
                                stage.first, user->Waiting(pool.layout(), i).data(),
                                user->Open(pool.layout(), i).data()));
  }
  return memory;
}

void Ranker::SizeAnswer(const Sequence& sequence, const HistoryPlan& plan, Answer* answer) const {
  const ModelConfig& config = model_.config();
  const auto context = static_cast<int64_t>(sequence.tokens.contextual.size());
  answer->num_tasks = config.num_tasks();
  answer->logits.resize(sequence.num_candidates() * config.num_tasks());
  answer->history_items = (plan.tokens().end - context) / config.tokens_per_item();
  answer->cached_tokens = CachedTokens(plan);
  answer->evicted_tokens = plan.tokens().first;
}

// Runs one step of as many sequences from `next` on as fit; returns the first that is left.
size_t Ranker::RunStep(std::vector<Sequence>* sequences, size_t next, size_t tier,
                       std::vector<Answer>* answers) {
  std::unique_lock lock(step_mutex_);
  if (tiers_ != nullptr) LookUp(std::span(*sequences).subspan(next), tier, &lock);
  batcher_.Clear();
  step_users_.clear();
  if (log_ != nullptr) log_->BeginStep();
  std::vector<Member> members;
  for (; next < sequences->size(); ++next) {
    Sequence& sequence = (*sequences)[next];
    Answer* answer = &(*answers)[sequence.request];
    // Room for the whole of it, before a plan binds pages.
    if (!members.empty() && !RoomFor(sequence)) break;
    Result<Planned> planned = Plan(&sequence);
    if (!planned.ok()) {
      answer->error = planned.error();
      continue;
    }
    if (planned->wait) {
      if (members.empty()) WaitForOthers(&lock);
      break;
    }
    if (planned->look_up) break;
    SizeAnswer(sequence, planned->history, answer);
    if (batcher_.NeedsChunks(sequence, planned->history)) {
      RunInChunks(sequence, planned.value(), &lock, answer);
      const bool done = EndMember(planned.value());
      lock.unlock();
      if (!done) RunAgain(planned.value(), answers);
      return next + 1;
    }
    std::vector<StageMemory> memory;
    if (planned->user != nullptr) memory = MemoryOf(planned->user);
    batcher_.AddWhole(sequence, planned->history, memory);
    step_users_.push_back({planned->user, planned->arrival.get()});
    members.push_back({&sequence, std::move(planned).value()});
  }
  if (members.empty()) return next;
  artifact_steps_.Count(static_cast<int64_t>(members.size()), RunForward());
  std::vector<const Planned*> failed;
  for (size_t i = 0; i < members.size(); ++i) {
    CopyLogits(workspace_.pieces[i], &(*answers)[members[i].sequence->request]);
    if (!EndMember(members[i].planned)) failed.push_back(&members[i].planned);
  }
  lock.unlock();
  for (const Planned* planned : failed) RunAgain(*planned, answers);
  return next;
}

// Gives the user free. False: what came from a tier is of no use, nor is the answer.
bool Ranker::EndMember(const Planned& planned) {
  if (planned.user == nullptr) return true;
  KvCache::Unpin(planned.user);
  if (planned.arrival != nullptr) {
    planned.arrival->WaitAll();
    stats_.kv_waited_seconds += planned.arrival->waited_seconds();
    if (planned.arrival->failed()) {
      cache_->Erase(*planned.original->user_id);
      return false;
    }
  }
  if (tiers_ != nullptr) tiers_->EndStep(planned.user);
  return true;
}

// From the next tier that knows the user, or from scratch.
void Ranker::RunAgain(const Planned& planned, std::vector<Answer>* answers) {
  std::vector<Sequence> sequence{*planned.original};
  (*answers)[sequence[0].request] = Answer();
  while (RunStep(&sequence, 0, planned.arrival->tier() + 1, answers) == 0) {
  }
}

// Whether the step takes the sequence even if nothing of it is cached.
bool Ranker::RoomFor(const Sequence& sequence) const {
  const HistoryPlan whole = PlanFresh(model_.config().stages, 0, sequence.tokens.history_tokens());
  return !batcher_.NeedsChunks(sequence, whole) &&
         batcher_.Fits(sequence, whole, sequence.user_id.has_value());
}

// Pins are held beyond a step only by a sequence in chunks, which holds the other lock, and by
// saves.
void Ranker::WaitForOthers(std::unique_lock<std::mutex>* lock) {
  lock->unlock();
  const std::lock_guard chunks(chunk_mutex_);
  if (tiers_ != nullptr) tiers_->transfers().Drain();
}

// Others' steps may run between two chunks; another sequence in chunks waits. `lock` is the step's.
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
  bool hit = true;
  do {
    lock->lock();
    step_users_.assign(1, {planned.user, planned.arrival.get()});
    if (log_ != nullptr) log_->BeginStep();
    batcher_.SetChunk(sequence, planned.history, memory, &progress);
    hit = RunForward() && hit;
    CopyLogits(workspace_.pieces[0], answer);
    lock->unlock();
  } while (!progress.Done(sequence, planned.history));
  lock->lock();
  artifact_steps_.Count(1, hit);
}

// Returns whether the step ran in artifacts.
bool Ranker::RunForward() {
  batcher_.NumberRows();
  for (size_t i = 0; tiers_ != nullptr && i < step_users_.size(); ++i) {
    const auto& [user, arrival] = step_users_[i];
    if (user == nullptr || arrival != nullptr) continue;  // what arrives may prove damaged
    StagePositions counts;
    for (const PieceStage& stage : workspace_.pieces[i].stages) {
      counts.push_back(stage.mask.history_end);
    }
    tiers_->transfers().BeginSave(*user, counts);
  }
  const int64_t before = allocation_count.load(std::memory_order_relaxed);
  const Artifacts::Bucket* bucket = artifact_steps_.Choose(workspace_.pieces);
  workspace_.Use(bucket != nullptr ? bucket->plan : workspace_.plan());
  forward_.Run(bucket != nullptr ? bucket->operators : operators_, this);
  stats_.step_allocations += allocation_count.load(std::memory_order_relaxed) - before;
  if (tiers_ != nullptr) tiers_->transfers().EndStep();
  ++stats_.steps;
  for (const Piece& piece : workspace_.pieces) {
    stats_.tokens += piece.stages[0].history_count + piece.candidate_count;
  }
  return bucket != nullptr;
}

void Ranker::BeginLayer(int64_t layer) {
  for (const StepUser& member : step_users_) {
    if (member.arrival != nullptr) member.arrival->WaitToWrite(layer);
  }
  if (log_ != nullptr) LogReads(layer);
}

void Ranker::BeginAttention(int64_t layer) {
  for (const StepUser& member : step_users_) {
    if (member.arrival != nullptr) member.arrival->Wait(layer);
  }
}

void Ranker::EndLayer(int64_t layer) {
  if (tiers_ != nullptr) tiers_->transfers().LayerDone(layer);
}

void Ranker::WroteRows(int64_t layer, const Piece& piece, int64_t position, int64_t count) {
  if (log_ == nullptr) return;
  const UserState* user = step_users_[&piece - workspace_.pieces.data()].user;
  if (user == nullptr) return;
  const UserStage& stage = user->stages[cache_->pool().layout().StageOf(layer)];
  log_->Add({CacheOperation::kWrite, layer, user->user_id, position, count, stage.table,
             stage.first / options_.page_size});
}

// What attention may read that this step doesn't compute.
void Ranker::LogReads(int64_t layer) {
  for (size_t i = 0; i < step_users_.size(); ++i) {
    const UserState* user = step_users_[i].user;
    if (user == nullptr) continue;
    const size_t index = cache_->pool().layout().StageOf(layer);
    const UserStage& stage = user->stages[index];
    const int64_t end = workspace_.pieces[i].stages[index].history_first;
    log_->Add({CacheOperation::kRead, layer, user->user_id, stage.first,
               std::max<int64_t>(0, end - stage.first), stage.table,
               stage.first / options_.page_size});
  }
}

void Ranker::CopyLogits(const Piece& piece, Answer* answer) const {
  const int64_t tasks = answer->num_tasks;
  std::copy_n(workspace_.logits() + piece.candidate_row * tasks, piece.candidate_count * tasks,
              answer->logits.begin() + piece.candidate_first * tasks);
}

EngineStats Ranker::stats() const {
  const std::lock_guard lock(step_mutex_);
  EngineStats stats = stats_;
  stats.arena_bytes = workspace_.arena_bytes();
  stats.weight_bytes = model_.packed_bytes();
  stats.bf16_products = NameOf(model_.products());
  artifact_steps_.AddTo(&stats);
  if (cache_) {
    stats.kv_bytes = cache_->pool().layout().Bytes();
    stats.kv_users = cache_->num_users();
    stats.kv_users_evicted = cache_->counters().users_evicted;
    stats.kv_tokens_evicted = cache_->counters().tokens_evicted;
  }
  if (tiers_ != nullptr) AddTierStats(tiers_->transfers(), tier_tokens_, &stats);
  return stats;
}

void Ranker::WaitForSaves() {
  const std::lock_guard lock(step_mutex_);
  if (tiers_ != nullptr) tiers_->transfers().Drain();
}

void Ranker::ForgetUsers() {
  const std::lock_guard chunks(chunk_mutex_);  // so that nobody is pinned
  const std::lock_guard lock(step_mutex_);
  if (tiers_ != nullptr) {
    tiers_->ForgetAll();
  } else if (cache_) {
    cache_->ForgetAll();
  }
}

std::string Ranker::DescribeCache(const std::optional<std::string>& user_id) const {
  const std::lock_guard lock(step_mutex_);
  return cache_ ? hstu::DescribeCache(*cache_, tiers_.get(), user_id) : "{\"users\": []}";
}

std::string Ranker::ProfileTrace() const {
  const std::lock_guard lock(step_mutex_);
  return trace_ == nullptr ? std::string() : trace_->ToChromeJson();
}

std::string Ranker::ProfileTable() const {
  const std::lock_guard lock(step_mutex_);
  if (trace_ == nullptr) return {};
  std::string table = FormatTotals(trace_->Totals());
  if (ranks_ != nullptr) table += FormatExchanges(*ranks_);
  if (trace_->dropped() > 0) table += fmt::format("{} later calls left out\n", trace_->dropped());
  return table;
}

}  // namespace hstu
