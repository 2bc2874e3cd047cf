// The model that benchmarks of the whole stack run, its requests, and the flops that they need.
#ifndef HSTU_BENCH_STACK_MODEL_H_
#define HSTU_BENCH_STACK_MODEL_H_

#include <cstdint>
#include <span>
#include <string>

#include "hstu/hstu.hpp"
#include "kernels/stages.h"
#include "tensor/dtype.h"

namespace hstu {

// Writes a random model to a temporary folder of this name and returns its path: 4 layers, 4 heads
// of 128, hidden 512, the size that peers are compared at. `stages`: as in config.json; `dtype`: of
// the dense weights.
Result<std::string> MakeStackModel(const std::string& name, const std::string& stages = "null",
                                   DType dtype = DType::kF32);

// `tokens` in all, the last of which are candidates.
Request MakeStackRequest(int64_t tokens, int64_t candidates);

// Of visible pairs, without rows of the last layer that no answer needs.
double UsefulStackFlops(std::span<const Stage> stages, int64_t tokens, int64_t candidates);

}  // namespace hstu

#endif  // HSTU_BENCH_STACK_MODEL_H_
