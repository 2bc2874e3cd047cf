// Checks streams past what a user may keep against the reference of streams.
#include <fmt/format.h>

#include <algorithm>

#include "accept/checks.h"
#include "accept/difference.h"
#include "accept/random_requests.h"
#include "accept/reference_session.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "kernels/operator_library.h"
#include "model/model.h"
#include "model/model_operators.h"

namespace hstu {
namespace {

constexpr int kStreams = 2;
constexpr int64_t kUnits = 3;       // that a stream has evicted when it ends
constexpr int64_t kCandidates = 8;  // of an append, at most

struct Worst {
  double difference = 0.0;
  int64_t appends = 0;
  int64_t evicted = 0;
};

class StreamCheck {
 public:
  StreamCheck(const Subject& subject, const Model& model, const ModelOperators& operators,
              Engine* engine, ThreadPool* pool)
      : subject_(subject), model_(model), operators_(operators), engine_(*engine), pool_(*pool) {}

  Status Run(uint32_t seed, Worst* worst, Curve* curve) {
    const ModelConfig& config = subject_.config;
    RandomRequests requests(config, subject_.requests, seed);
    ReferenceSession session(model_, operators_, subject_.metadata.page_size, &pool_);
    const int64_t unit = EvictionUnit(config.stages, subject_.metadata.page_size);
    const int64_t per_item = config.tokens_per_item();
    const auto context = static_cast<int64_t>(config.contextual_features.size());
    const int64_t most = (config.max_history_tokens - context) / per_item;
    const int64_t step = std::min(most, std::max<int64_t>(1, 3 * unit / 2 / per_item));
    int64_t items = 0;
    int64_t next = requests.Number(std::max<int64_t>(1, most / 2), most);
    while (session.evicted_tokens() < kUnits * unit) {
      Request request =
          requests.Draw(next, requests.Number(1, std::min(kCandidates, config.max_num_candidates)));
      request.user_id = "stream " + std::to_string(seed);
      request.history_start = items;
      HSTU_ASSIGN_OR_RETURN(const std::vector<double> expected, session.Rank(request));
      const Answer answer = engine_.Rank({&request, 1})[0];
      if (answer.error) return *answer.error;
      const double apart = LargestDifference<double>(answer.logits, expected, subject_.f32());
      if (!(apart <= worst->difference)) worst->difference = apart;
      ++worst->appends;
      items += next;
      curve->points.emplace_back(context + items * per_item, apart);
      next = requests.Number(1, step);
    }
    worst->evicted += session.evicted_tokens();
    return {};
  }

 private:
  const Subject& subject_;
  const Model& model_;
  const ModelOperators& operators_;
  Engine& engine_;
  ThreadPool& pool_;
};

}  // namespace

Result<Metric> CheckEviction(const Subject& subject, Plot* plot) {
  Metric metric{
      "eviction", "Largest difference of streams past the bound", "", LimitSide::kAtMost, {}, {},
      ""};
  if (subject.config.contextual_mask) {
    metric.detail = "nothing of a model with contextual_mask is cached";
    return metric;
  }
  HSTU_ASSIGN_OR_RETURN(Engine engine, subject.Load(true, true));
  HSTU_ASSIGN_OR_RETURN(const Model model, Model::Load(subject.options.model));
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry,
                        AllOperators(subject.options.engine.operator_path));
  HSTU_ASSIGN_OR_RETURN(const ModelOperators operators,
                        FindModelOperators(subject.config, registry));
  ThreadPool pool(subject.threads);
  StreamCheck check(subject, model, operators, &engine, &pool);
  Worst worst;
  *plot = {"Difference of streams past the bound", "tokens of the stream", "difference", {}};
  for (uint32_t seed = 1; seed <= kStreams; ++seed) {
    Curve curve{fmt::format("stream {}", seed), {}};
    HSTU_RETURN_IF_ERROR(check.Run(seed, &worst, &curve));
    plot->curves.push_back(std::move(curve));
  }
  metric.value = worst.difference;
  metric.detail = fmt::format("{} streams, {} appends, {} tokens evicted", kStreams, worst.appends,
                              worst.evicted);
  return metric;
}

}  // namespace hstu
