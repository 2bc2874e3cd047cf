#include "engine/workspace.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "engine/kv_shape.h"
#include "kernels/gemm.h"
#include "kernels/hstu_attention.h"

namespace hstu {
namespace {

// A batch of many short users wastes at most half of its pages before the step is cut.
constexpr int64_t kSpareStepPages = 64;

int64_t ThreadScratchFloats(const ModelConfig& config) {
  const int64_t input = kRowBlock * config.hidden_size + GemmScratch(config.hidden_size);
  const int64_t output = GemmScratch(config.attention_width());
  const int64_t attention = HstuAttentionScratch(config.kv_channels);
  int64_t widest = config.hidden_size;
  for (const int64_t size : config.prediction_head_arch) widest = std::max(widest, size);
  const int64_t head = 2 * kRowBlock * widest + GemmScratch(widest);
  return RoundUp(std::max({input, output, attention, head}), 32);
}

}  // namespace

WorkspaceLimits Workspace::Limits(const ModelConfig& config, const EngineOptions& options,
                                  const EngineDTypes& dtypes, int threads) {
  WorkspaceLimits limits;
  // What can't be computed in parts: a group of candidates, and histories under contextual_mask.
  const int64_t group = std::min(config.target_group_size, config.max_num_candidates);
  limits.tokens = std::max(options.max_step_tokens, group);
  if (config.contextual_mask) {
    limits.tokens = std::max(limits.tokens, config.max_history_tokens);
  }
  const int64_t page = options.page_size;
  limits.step_pages = 2 * CeilDiv(limits.tokens, page) + kSpareStepPages;
  limits.chunks = options.chunk_tokens > 0 ||
                  config.max_history_tokens + config.max_num_candidates > limits.tokens;
  limits.threads = threads;
  limits.dtype = dtypes.activations;
  limits.kv_dtype = dtypes.kv;
  return limits;
}

Result<Workspace> Workspace::Make(const ModelConfig& config, const WorkspaceLimits& limits,
                                  int64_t page_tokens) {
  Workspace workspace;
  workspace.limits_ = limits;
  workspace.layout_ = {config.num_attention_heads, config.kv_channels, page_tokens,
                       limits.kv_dtype};
  int64_t most_pages = limits.step_pages;
  if (limits.chunks) {
    const KvModelShape shape = KvShapeOf(config, limits.kv_dtype);
    const int64_t pages = KvPagesPerUser(shape, page_tokens)[0];
    HSTU_ASSIGN_OR_RETURN(workspace.sequence_layout_, MakeKvLayout(shape, page_tokens, pages));
    most_pages = std::max(most_pages, pages);
  }
  workspace.plan_ = PlanStep(config, limits.dtype, limits.tokens);
  workspace.sequence_waiting_.resize(config.stages.size());
  workspace.sequence_open_.resize(config.stages.size());
  Arena sizes;
  workspace.Place(config, &sizes);
  HSTU_ASSIGN_OR_RETURN(workspace.arena_, Arena::Allocate(sizes.used()));
  workspace.Place(config, &workspace.arena_);

  workspace.identity_.resize(most_pages);
  std::iota(workspace.identity_.begin(), workspace.identity_.end(), 0);
  const int64_t most_pieces = limits.step_pages + limits.tokens;
  workspace.pieces.reserve(most_pieces);
  workspace.piece_stages_.reserve(most_pieces * static_cast<int64_t>(config.stages.size()));
  workspace.blocks.reserve(limits.tokens);
  workspace.candidate_blocks.reserve(limits.tokens);
  if (limits.kv_dtype == KvDType::kInt8) workspace.full_pages.reserve(limits.step_pages);
  return workspace;
}

void Workspace::Place(const ModelConfig& config, Arena* arena) {
  activations_ = arena->Take<std::byte>(std::max(plan_.bytes, limits_.arena_bytes));
  normed = arena->Take<float>(kFewRows * limits_.threads * config.hidden_size);
  // A history that begins in the middle of a chunk reaches into one more.
  attention_chunks = CeilDiv(config.max_history_tokens, kKeyChunk) + 1;
  attention_parts = arena->Take<float>(kSharedTasksPerThread * limits_.threads * attention_chunks *
                                       HstuAttentionPart(kFewQueries, config.kv_channels));
  thread_scratch_floats = ThreadScratchFloats(config);
  thread_scratch = arena->Take<float>(limits_.threads * thread_scratch_floats);
  step_keys_ = arena->Take<std::byte>(limits_.step_pages * layout_.KeyPageBytes());
  step_values_ = arena->Take<std::byte>(limits_.step_pages * layout_.ValuePageBytes());
  if (limits_.kv_dtype == KvDType::kInt8) own_pages.Place(layout_, limits_.step_pages, arena);
  sequence_keys_ = arena->Take<std::byte>(sequence_layout_.KeyBytes());
  sequence_values_ = arena->Take<std::byte>(sequence_layout_.ValueBytes());
  for (size_t i = 0; limits_.chunks && i < config.stages.size(); ++i) {
    const int64_t rows = config.stages[i].aggregation.window - 1;
    sequence_waiting_[i] = arena->Take<float>(rows * config.hidden_size);
    const int64_t open = config.stages[i].num_layers * OpenPageBytes(layout_);
    if (open > 0) sequence_open_[i] = arena->Take<std::byte>(open);
  }
}

StageMemory Workspace::StepMemory(int64_t page, int64_t first_position) const {
  StageMemory memory;
  memory.first_layer = {step_keys_, step_values_, identity_.data() + page,
                        first_position / layout_.page_tokens};
  return memory;
}

StageMemory Workspace::SequenceMemory(size_t stage, int64_t first_position) const {
  return PoolMemory(sequence_layout_, stage, sequence_keys_, sequence_values_, identity_.data(),
                    first_position, sequence_waiting_[stage], sequence_open_[stage]);
}

void Workspace::Add(Piece piece, std::span<const PieceStage> stages) {
  // In the reserved memory, which doesn't move.
  const auto begin = pieces.size() * stages.size();
  piece_stages_.resize(begin);
  piece_stages_.insert(piece_stages_.end(), stages.begin(), stages.end());
  piece.stages = {piece_stages_.data() + begin, stages.size()};
  pieces.push_back(piece);
}

}  // namespace hstu
