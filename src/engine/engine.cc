// The public Engine: requests in, steps run, answers out.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "base/allocation_count.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "engine/batch.h"
#include "engine/forward.h"
#include "engine/workspace.h"
#include "hstu/hstu.hpp"
#include "kernels/operators.h"
#include "model/model.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

constexpr int kMostThreads = 1024;
constexpr int64_t kTraceEvents = int64_t{1} << 20;  // of each thread
constexpr int64_t kMostStepTokens = int64_t{1} << 24;

Status CheckOptions(const EngineOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    return MakeError(ErrorCode::kBadArgument, "threads {} is outside [0, {}]; 0 takes all",
                     options.threads, kMostThreads);
  }
  if (options.max_step_tokens < 1 || options.max_step_tokens > kMostStepTokens) {
    return MakeError(ErrorCode::kBadArgument, "max_step_tokens {} is outside [1, {}]",
                     options.max_step_tokens, kMostStepTokens);
  }
  if (options.chunk_tokens < 0) {
    return MakeError(ErrorCode::kBadArgument,
                     "chunk_tokens {} is negative; 0 splits only at "
                     "max_step_tokens",
                     options.chunk_tokens);
  }
  if (options.page_size != 32 && options.page_size != 64 && options.page_size != 128) {
    return MakeError(ErrorCode::kBadArgument,
                     "page_size {}: pages of 32, 64 or 128 tokens are whole panels of 16 keys and "
                     "divide the 256 keys that are summed together",
                     options.page_size);
  }
  return {};
}

}  // namespace

class Engine::Impl {
 public:
  Impl(Model model, const EngineOptions& options, const Operators& operators, Workspace workspace,
       int threads)
      : model_(std::move(model)),
        options_(options),
        operators_(operators),
        pool_(threads),
        workspace_(std::move(workspace)),
        batcher_(model_.config(), options_.chunk_tokens, &workspace_),
        trace_(options_.profile ? std::make_unique<Trace>(threads, kTraceEvents) : nullptr),
        forward_(model_, operators_, options_.last_layer_all_rows, &pool_, &workspace_,
                 trace_.get()) {}

  std::vector<Answer> Rank(std::span<const Request> requests) {
    std::vector<Answer> answers(requests.size());
    std::vector<Sequence> sequences;
    sequences.reserve(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      Result<Sequence> sequence = Prepare(requests[i], static_cast<int64_t>(i), &answers[i]);
      if (sequence.ok()) {
        sequences.push_back(std::move(sequence).value());
      } else {
        answers[i].error = sequence.error();
      }
    }
    size_t next = 0;
    while (next < sequences.size()) {
      if (batcher_.NeedsChunks(sequences[next])) {
        RunInChunks(sequences[next], &answers);
        ++next;
      } else {
        next = RunStep(sequences, next, &answers);
      }
    }
    return answers;
  }

  std::string ProfileTrace() const {
    const std::lock_guard lock(step_mutex_);
    return trace_ == nullptr ? std::string() : trace_->ToChromeJson();
  }

  std::string ProfileTable() const {
    const std::lock_guard lock(step_mutex_);
    if (trace_ == nullptr) return {};
    std::string table = FormatTotals(trace_->Totals());
    if (trace_->dropped() > 0) table += fmt::format("{} later calls left out\n", trace_->dropped());
    return table;
  }

  int64_t num_tasks() const { return model_.config().num_tasks(); }

  EngineStats stats() const {
    const std::lock_guard lock(step_mutex_);
    return stats_with_sizes();
  }

 private:
  // Checks a request and sizes its answer.
  Result<Sequence> Prepare(const Request& request, int64_t index, Answer* answer) const {
    if (request.history_start.value_or(0) != 0) {
      return MakeError(ErrorCode::kHistoryNotCached,
                       "history_start {}: 0 items of the user are known without a KV cache; send "
                       "the whole history",
                       *request.history_start);
    }
    const ModelConfig& config = model_.config();
    HSTU_ASSIGN_OR_RETURN(UserTokens tokens,
                          ResolveTokens(model_.files(), request, options_.disable_context));
    Sequence sequence{index, std::move(tokens), 0};
    const int64_t history = sequence.history_end();
    if (history > config.max_history_tokens) {
      if (!options_.truncate || request.history_start.has_value()) {
        return MakeError(ErrorCode::kHistoryTooLong,
                         "history: {} tokens, max_history_tokens is {}; send fewer items{}",
                         history, config.max_history_tokens,
                         request.history_start.has_value() ? "" : ", or run with --truncate");
      }
      sequence.skip = TokensToDrop(history, config.max_history_tokens, options_.page_size);
    }
    answer->num_tasks = config.num_tasks();
    answer->logits.resize(sequence.num_candidates() * config.num_tasks());
    answer->history_items = static_cast<int64_t>(request.items.size());
    answer->evicted_tokens = sequence.skip;
    return sequence;
  }

  // Runs one step of as many sequences from `next` on as fit; returns the first that is left.
  size_t RunStep(const std::vector<Sequence>& sequences, size_t next,
                 std::vector<Answer>* answers) {
    const std::lock_guard lock(step_mutex_);
    batcher_.Clear();
    const size_t first = next;
    while (next < sequences.size() && !batcher_.NeedsChunks(sequences[next]) &&
           batcher_.AddWhole(sequences[next])) {
      ++next;
    }
    RunForward();
    for (size_t i = first; i < next; ++i) {
      CopyLogits(workspace_.pieces[i - first], &(*answers)[sequences[i].request]);
    }
    return next;
  }

  // Others' steps may run between two chunks; another sequence in chunks waits.
  void RunInChunks(const Sequence& sequence, std::vector<Answer>* answers) {
    const std::lock_guard chunk_lock(chunk_mutex_);
    ChunkProgress progress{sequence.skip, 0};
    do {
      const std::lock_guard lock(step_mutex_);
      batcher_.SetChunk(sequence, &progress);
      RunForward();
      CopyLogits(workspace_.pieces[0], &(*answers)[sequence.request]);
    } while (progress.history < sequence.history_end() ||
             progress.candidates < sequence.num_candidates());
  }

  void RunForward() {
    batcher_.NumberRows();
    const int64_t before = allocation_count.load(std::memory_order_relaxed);
    forward_.Run();
    stats_.step_allocations += allocation_count.load(std::memory_order_relaxed) - before;
    ++stats_.steps;
    for (const Piece& piece : workspace_.pieces) {
      stats_.tokens += piece.history_count + piece.candidate_count;
    }
  }

  void CopyLogits(const Piece& piece, Answer* answer) const {
    const int64_t tasks = answer->num_tasks;
    const int64_t history_rows =
        workspace_.pieces.back().history_row + workspace_.pieces.back().history_count;
    std::copy_n(workspace_.logits + (piece.candidate_row - history_rows) * tasks,
                piece.candidate_count * tasks,
                answer->logits.begin() + piece.candidate_first * tasks);
  }

  EngineStats stats_with_sizes() const {
    EngineStats stats = stats_;
    stats.arena_bytes = workspace_.arena_bytes();
    stats.weight_bytes = model_.packed_bytes();
    return stats;
  }

  const Model model_;
  const EngineOptions options_;
  const Operators operators_;
  ThreadPool pool_;
  Workspace workspace_;
  Batcher batcher_;
  const std::unique_ptr<Trace> trace_;
  Forward forward_;
  std::mutex chunk_mutex_;         // held for a whole sequence; taken before step_mutex_
  mutable std::mutex step_mutex_;  // workspace, pool and stats_
  EngineStats stats_;
};

Result<Engine> Engine::Load(const std::string& folder, const EngineOptions& options) {
  HSTU_RETURN_IF_ERROR(CheckOptions(options));
  HSTU_ASSIGN_OR_RETURN(const Isa isa, ParseIsa(options.isa));
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, BuiltinOperators());
  HSTU_ASSIGN_OR_RETURN(const Operators operators,
                        SelectOperators(registry, isa, options.fused_ops));
  HSTU_ASSIGN_OR_RETURN(Model model, Model::Load(folder));
  const int threads = options.threads > 0 ? options.threads : AvailableProcessors();
  const WorkspaceLimits limits = Workspace::Limits(model.config(), options, threads);
  HSTU_ASSIGN_OR_RETURN(Workspace workspace,
                        Workspace::Make(model.config(), limits, options.page_size));
  return Engine(
      std::make_unique<Impl>(std::move(model), options, operators, std::move(workspace), threads));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

std::vector<Answer> Engine::Rank(std::span<const Request> requests) {
  return impl_->Rank(requests);
}

std::string Engine::ProfileTrace() const { return impl_->ProfileTrace(); }
std::string Engine::ProfileTable() const { return impl_->ProfileTable(); }
std::int64_t Engine::num_tasks() const { return impl_->num_tasks(); }

EngineStats Engine::stats() const { return impl_->stats(); }

}  // namespace hstu
