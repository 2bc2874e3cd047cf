// What the operators' benchmarks share: threads, random data, and reporting an operator's place
// under the peaks of the same run.
#ifndef HSTU_BENCH_OPERATOR_CASE_H_
#define HSTU_BENCH_OPERATOR_CASE_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>

#include "base/aligned.h"
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "bench/read_bandwidth.h"
#include "tensor/view.h"

namespace hstu {

// One thread a processor, and the best instruction set.
ThreadPool& Pool();
Isa BestIsa();

struct Buffer {
  AlignedArray<float> data;
  Matrix view;
};

// The same numbers for the same shape, within [-scale, scale].
Buffer RandomMatrix(int64_t rows, int64_t cols, float scale);

// Of one run: what must be done, and what must come from memory and go there, each byte once.
struct Work {
  double flops = 0.0;
  double bytes = 0.0;
};

// Runs `body` between bursts of multiply-adds and reports counters: of_peak and others of
// RatioResult, gflops (at the run's largest peak), intensity (flops a byte).
void ReportFlops(benchmark::State& state, const Work& work, const std::function<void()>& body);

// The same between bursts of reads in `buffer`: of_read, gbytes a second.
void ReportReads(benchmark::State& state, const Work& work, ReadBuffer* buffer,
                 const std::function<void()>& body);

// body(first_row, rows, thread) for blocks of 96 rows, as the engine splits them.
template <typename Body>
void ForRowBlocks(int64_t rows, const Body& body) {
  constexpr int64_t kBlock = 96;
  Pool().Run(CeilDiv(rows, kBlock), [&](int64_t task, int thread) {
    const int64_t first = task * kBlock;
    body(first, std::min(kBlock, rows - first), thread);
  });
}

}  // namespace hstu

#endif  // HSTU_BENCH_OPERATOR_CASE_H_
