// The eager interpreter: runs a model's plain graph operator by operator, nothing fused, each
// result in a buffer of its own, on the same GEMM as the kernels. It is what compiled code is
// compared with: in its answers, its speed and its memory.
#ifndef HSTU_COMPILE_EAGER_H_
#define HSTU_COMPILE_EAGER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/aligned.h"
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "compile/graph.h"
#include "hstu/hstu.hpp"
#include "kernels/operators.h"
#include "model/model.h"
#include "model/model_operators.h"

namespace hstu {

class Eager {
 public:
  // Errors: those of the model, of the operators of `isa` and of the operator path.
  static Result<std::unique_ptr<Eager>> Load(const std::string& model, Isa isa, int threads,
                                             const std::string& operator_path = {});

  // Answers one request, whose history is whole. In f32. Errors are those of a request.
  Result<Answer> Rank(const Request& request);

  // The most bytes that results held at once so far: views hold none, nor does what nobody reads
  // any more.
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  class Run;

  Eager(Model model, const Operators& operators, Isa isa, int threads);

  const Model model_;
  const Operators operators_;
  std::unordered_map<std::string, RowOperator> row_operators_;  // by op of the graph
  const Isa isa_;
  const Graph graph_;
  ThreadPool pool_;
  // Memory of earlier results, by size: the system's own would cost a page fault every 4 kB.
  std::multimap<int64_t, AlignedArray<float>> free_;
  int64_t peak_bytes_ = 0;
};

}  // namespace hstu

#endif  // HSTU_COMPILE_EAGER_H_
