#include "engine/workspace.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
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
  const int64_t head = 2 * kRowBlock * widest + 96 * widest;
  return RoundUp(std::max({input, output, attention, head}), 32);
}

}  // namespace

WorkspaceLimits Workspace::Limits(const ModelConfig& config, const EngineOptions& options,
                                  int threads) {
  WorkspaceLimits limits;
  // What can't be computed in parts: a group of candidates, and histories under contextual_mask.
  const int64_t group = std::min(config.target_group_size, config.max_num_candidates);
  limits.tokens = std::max(options.max_step_tokens, group);
  if (config.contextual_mask) {
    limits.tokens = std::max(limits.tokens, config.max_history_tokens);
  }
  const int64_t page = options.page_size;
  limits.step_pages = 2 * CeilDiv(limits.tokens, page) + kSpareStepPages;
  const bool chunks = options.chunk_tokens > 0 ||
                      config.max_history_tokens + config.max_num_candidates > limits.tokens;
  limits.sequence_pages = chunks ? CeilDiv(config.max_history_tokens, page) + 1 : 0;
  limits.threads = threads;
  return limits;
}

Result<Workspace> Workspace::Make(const ModelConfig& config, const WorkspaceLimits& limits,
                                  int64_t page_tokens) {
  Workspace workspace;
  workspace.limits_ = limits;
  workspace.layout_ = {config.num_attention_heads, config.kv_channels, page_tokens};
  Arena sizes;
  workspace.Place(config, &sizes);
  HSTU_ASSIGN_OR_RETURN(workspace.arena_, Arena::Allocate(sizes.used()));
  workspace.Place(config, &workspace.arena_);

  workspace.identity_.resize(std::max(limits.step_pages, limits.sequence_pages));
  std::iota(workspace.identity_.begin(), workspace.identity_.end(), 0);
  const int64_t most_pieces = limits.step_pages + limits.tokens;
  workspace.pieces.reserve(most_pieces);
  workspace.history_blocks.reserve(limits.tokens / kQueryBlock + limits.step_pages + 1);
  workspace.candidate_blocks.reserve(limits.tokens);
  return workspace;
}

void Workspace::Place(const ModelConfig& config, Arena* arena) {
  x = arena->Take<float>(limits_.tokens * config.hidden_size);
  uvqk = arena->Take<float>(limits_.tokens * 4 * config.attention_width());
  normed = arena->Take<float>(kFewRows * limits_.threads * config.hidden_size);
  logits = arena->Take<float>(limits_.tokens * config.num_tasks());
  thread_scratch_floats = ThreadScratchFloats(config);
  thread_scratch = arena->Take<float>(limits_.threads * thread_scratch_floats);
  step_keys_ = arena->Take<float>(limits_.step_pages * layout_.KeyPageFloats());
  step_values_ = arena->Take<float>(limits_.step_pages * layout_.ValuePageFloats());
  const int64_t sequence_pages = limits_.sequence_pages * config.num_layers;
  sequence_keys_ = arena->Take<float>(sequence_pages * layout_.KeyPageFloats());
  sequence_values_ = arena->Take<float>(sequence_pages * layout_.ValuePageFloats());
}

PieceKv Workspace::StepKv(int64_t page, int64_t first_position) const {
  return {{step_keys_, step_values_, identity_.data() + page, first_position / layout_.page_tokens},
          0,
          0};
}

PieceKv Workspace::SequenceKv(int64_t first_position) const {
  return {
      {sequence_keys_, sequence_values_, identity_.data(), first_position / layout_.page_tokens},
      limits_.sequence_pages * layout_.KeyPageFloats(),
      limits_.sequence_pages * layout_.ValuePageFloats()};
}

}  // namespace hstu
