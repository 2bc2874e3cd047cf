// Operators that are matrix products.
#include "bench/operator_case.h"
#include "kernels/gemm.h"
#include "kernels/in_linear_silu.h"
#include "kernels/linear.h"
#include "kernels/linear_residual.h"

namespace hstu {
namespace {

// x [m, k] times a packed weight [n, k].
struct Product {
  explicit Product(const benchmark::State& state)
      : m(state.range(0)),
        k(state.range(1)),
        n(state.range(2)),
        x(RandomMatrix(m, k, 1.0f)),
        bias(RandomMatrix(1, n, 0.1f)),
        out(RandomMatrix(m, n, 1.0f)),
        scratch(AllocateAligned<float>(GemmScratch(k) * Pool().threads())) {
    const Buffer w = RandomMatrix(n, k, 0.05f);
    weight = PackedMatrix(reinterpret_cast<const std::byte*>(w.data.get()), DType::kF32, n, k);
  }

  Work work(int64_t reads_of_out) const {
    const auto floats = static_cast<double>(m * k + n * k + m * n * (1 + reads_of_out));
    return {2.0 * static_cast<double>(m * n * k), 4.0 * floats};
  }
  float* Scratch(int thread) const { return scratch.get() + thread * GemmScratch(k); }

  int64_t m, k, n;
  Buffer x, bias, out;
  PackedMatrix weight;
  AlignedArray<float> scratch;
};

void BM_InLinearSilu(benchmark::State& state) {
  const Product p(state);
  auto* op = InLinearSiluFor(BestIsa());
  ReportFlops(state, p.work(0), [&] {
    ForRowBlocks(p.m, [&](int64_t row, int64_t rows, int thread) {
      op({p.x.view.Rows(row, rows), p.weight, p.bias.data.get(), p.out.view.Rows(row, rows), 0,
          p.weight.panels(), p.Scratch(thread)});
    });
  });
}
BENCHMARK(BM_InLinearSilu)
    ->Args({4096, 512, 2048})
    ->Args({512, 512, 2048})
    ->Iterations(1)
    ->UseManualTime();

void BM_LinearResidual(benchmark::State& state) {
  const Product p(state);
  auto* op = LinearResidualFor(BestIsa());
  ReportFlops(state, p.work(1), [&] {
    ForRowBlocks(p.m, [&](int64_t row, int64_t rows, int thread) {
      const Matrix out = p.out.view.Rows(row, rows);
      op({p.x.view.Rows(row, rows), p.weight, out, out, 0, p.weight.panels(), p.Scratch(thread)});
    });
  });
}
BENCHMARK(BM_LinearResidual)->Args({4096, 512, 512})->Iterations(1)->UseManualTime();

void BM_Linear(benchmark::State& state) {
  const Product p(state);
  auto* op = LinearFor(BestIsa());
  ReportFlops(state, p.work(0), [&] {
    ForRowBlocks(p.m, [&](int64_t row, int64_t rows, int thread) {
      op({p.x.view.Rows(row, rows), p.weight, p.bias.data.get(), true, p.out.view.Rows(row, rows),
          p.Scratch(thread)});
    });
  });
}
BENCHMARK(BM_Linear)->Args({256, 512, 512})->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace hstu
