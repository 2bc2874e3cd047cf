// The stages of a hierarchical model, and where their tokens come from.
//
// Stage 0 works on a user's tokens. A token of a later stage is the mean of a window of outputs of
// the stage before, and exists once all of these do. Positions of a stage count its own tokens from
// the start of the user's stream, evicted ones included; so which tokens a window holds never
// depends on chunks or evictions. A flat model is one stage.
#ifndef HSTU_KERNELS_STAGES_H_
#define HSTU_KERNELS_STAGES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace hstu {

// Token j is the mean of the inputs [j * stride, j * stride + window); 1 <= stride <= window.
struct Aggregation {
  int64_t window = 1;
  int64_t stride = 1;

  // Tokens whose windows lie within the first `inputs` inputs.
  int64_t Complete(int64_t inputs) const {
    return inputs < window ? 0 : (inputs - window) / stride + 1;
  }
};

struct Stage {
  int64_t num_layers = 0;
  Aggregation aggregation;  // of the stage before; the first stage takes token by token
};

// A position of each stage.
using StagePositions = std::vector<int64_t>;

// One past the last token of each stage where the first has `tokens` of them.
StagePositions CompleteTokens(std::span<const Stage> stages, int64_t tokens);

// The same for a stream that has come to `counts` and goes on to `tokens`. Differs where a stream
// began behind skipped tokens: windows over these never get complete.
void AdvanceTo(std::span<const Stage> stages, int64_t tokens, StagePositions* counts);

// Where each stage goes on when the first `tokens` tokens are known and no outputs of theirs: the
// last stage at its first incomplete window, each other at the first input that the next needs.
StagePositions ResumePositions(std::span<const Stage> stages, int64_t tokens);

// The first token of each stage for which no token before `position` of stage 0 was read.
StagePositions FirstWithout(std::span<const Stage> stages, int64_t position);

// The most that a user keeps in each stage where the first keeps `tokens`: one token a stride. More
// than CompleteTokens, as a window that was incomplete at an eviction outlives its first inputs.
StagePositions MostKept(std::span<const Stage> stages, int64_t tokens);

// History is evicted in whole pages and in whole strides of every aggregation.
int64_t EvictionUnit(std::span<const Stage> stages, int64_t page_tokens);

}  // namespace hstu

#endif  // HSTU_KERNELS_STAGES_H_
