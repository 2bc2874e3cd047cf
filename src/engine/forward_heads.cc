// The way from one attention to the next where several ranks share the heads: the output LayerNorm
// spans all of them, and the output projection is a sum over them.
#include <algorithm>

#include "engine/forward.h"
#include "kernels/norm_mul_moments.h"
#include "kernels/row_moments.h"

namespace hstu {
namespace {

constexpr int64_t kRowsTogether = 192;  // one part of an exchange
constexpr int64_t kTaskRows = 24;

}  // namespace

void Forward::RunBetweenOverHeads(Boundary boundary) {
  SharedHeads& heads = *ranks_->heads;
  heads.exchange->SetLayer(boundary.finish);
  const Rows out = OutputRows(boundary.finish);
  GatherMoments(out);
  // Candidates and history apart: the last layer computes different parts of them.
  std::vector<Rows> parts;
  for (const Rows& rows :
       {Rows{0, candidate_rows_}, Rows{candidate_rows_, out.count - candidate_rows_}}) {
    for (int64_t i = 0; i < rows.count; i += kRowsTogether) {
      parts.push_back({rows.begin + i, std::min(kRowsTogether, rows.count - i)});
    }
  }
  for (size_t i = 0; i <= parts.size(); ++i) {
    if (i < parts.size()) SumOwnHeads(boundary.finish, parts[i], &heads.parts[i % 2]);
    if (i > 0) JoinHeads(boundary, parts[i - 1], heads.parts[(i - 1) % 2]);
  }
}

template <typename Body>
void Forward::ForRowTasks(Rows rows, const Body& body) const {
  pool_.Run(CeilDiv(rows.count, kTaskRows), [&](int64_t task, int thread) {
    const int64_t at = task * kTaskRows;
    body(Rows{rows.begin + at, std::min(kTaskRows, rows.count - at)}, thread);
  });
}

// Mean and deviation of each row over the heads of all ranks.
void Forward::GatherMoments(Rows rows) {
  SharedHeads& heads = *ranks_->heads;
  const int64_t ranks = heads.exchange->size();
  heads.own_moments.resize(rows.count * 2);
  heads.all_moments.resize(ranks * rows.count * 2);
  heads.moments.resize(rows.count * 2);
  ForRowTasks(rows, [&](Rows task, int thread) {
    TraceScope scope(trace_, thread, "row_moments");
    operators_->row_moments({Part(kQ, task), heads.own_moments.data() + task.begin * 2});
  });
  const std::vector<int64_t> sizes(ranks, rows.count * 2 * static_cast<int64_t>(sizeof(float)));
  heads.exchange->Wait(
      heads.exchange->Start(reinterpret_cast<const std::byte*>(heads.own_moments.data()), sizes,
                            reinterpret_cast<std::byte*>(heads.all_moments.data())));
  JoinRowMoments(heads.all_moments.data(), ranks, rows.count, config_.attention_width(),
                 config_.layernorm_epsilon, heads.moments.data());
}

// What this rank's heads add to the output projection of the rows, sent on its way.
void Forward::SumOwnHeads(int64_t layer, Rows rows, ExchangedPart* part) {
  SharedHeads& heads = *ranks_->heads;
  const LayerWeights& weights = model_.layers()[layer];
  const int64_t width = config_.hidden_size;
  part->own.resize(rows.count * width);
  part->all.resize(heads.exchange->size() * rows.count * width);
  part->sizes.assign(heads.exchange->size(),
                     rows.count * width * static_cast<int64_t>(sizeof(float)));
  ForRowTasks(rows, [&](Rows task, int thread) {
    {
      TraceScope scope(trace_, thread, "norm_mul_moments");
      operators_->norm_mul_moments(
          {Part(kQ, task), Part(kU, task), weights.output_norm_weight.data(),
           weights.output_norm_bias.data(), heads.moments.data() + task.begin * 2, Part(kU, task)});
    }
    TraceScope scope(trace_, thread, "linear_residual");
    const Matrix sums{part->own.data() + (task.begin - rows.begin) * width, task.count, width,
                      width};
    operators_->linear_residual({Part(kU, task), weights.proj, ConstActivations(), sums, 0,
                                 weights.proj.panels(), Scratch(thread)});
  });
  part->ticket = heads.exchange->Start(reinterpret_cast<const std::byte*>(part->own.data()),
                                       part->sizes, reinterpret_cast<std::byte*>(part->all.data()));
}

// The sums of all ranks in their order, the residual, and the rows' way into the next layer.
void Forward::JoinHeads(Boundary boundary, Rows rows, const ExchangedPart& part) {
  SharedHeads& heads = *ranks_->heads;
  heads.exchange->Wait(part.ticket);
  const int64_t ranks = heads.exchange->size();
  const int64_t width = config_.hidden_size;
  ForRowTasks(rows, [&](Rows task, int thread) {
    const Activations x = X(task);
    for (int64_t row = 0; row < task.count; ++row) {
      const float* sums = part.all.data() + (task.begin - rows.begin + row) * width;
      for (int64_t i = 0; i < width; ++i) {
        float sum = config_.residual ? x.At(row, i) : 0.0f;
        for (int64_t rank = 0; rank < ranks; ++rank) sum += sums[rank * rows.count * width + i];
        x.Set(row, i, sum);
      }
    }
    if (boundary.begin != kNoLayer) BeginRows(boundary.begin, task, thread);
  });
}

}  // namespace hstu
