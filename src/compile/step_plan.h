// Where a step's activations lie in one arena, known before it runs.
#ifndef HSTU_COMPILE_STEP_PLAN_H_
#define HSTU_COMPILE_STEP_PLAN_H_

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "tensor/dtype.h"

namespace hstu {

// Offsets in bytes.
struct StepPlan {
  int64_t rows = 0;           // that it is made for, at most
  std::vector<int64_t> x;     // of each stage: [rows, C]
  std::vector<int64_t> uvqk;  // of each stage: [rows, 4HD]
  int64_t logits = 0;         // [rows, tasks] of f32
  int64_t bytes = 0;          // of the arena
};

// The plan of the fused graph's buffers; `dtype` is that of activations.
StepPlan PlanStep(const ModelConfig& config, DType dtype, int64_t rows);

}  // namespace hstu

#endif  // HSTU_COMPILE_STEP_PLAN_H_
