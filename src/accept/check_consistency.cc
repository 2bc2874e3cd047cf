// Checks answers against the eager interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "accept/checks.h"
#include "accept/difference.h"
#include "accept/random_requests.h"
#include "base/error.h"

namespace hstu {
namespace {

constexpr int kRandomInputs = 100;
constexpr int64_t kShortTokens = 64;  // of requests that only fill a batch
constexpr uint32_t kSeed = 1;

class Consistency {
 public:
  Consistency(const Subject& subject, Engine* engine, Eager* eager)
      : subject_(subject),
        engine_(*engine),
        eager_(*eager),
        requests_(subject.config, subject.requests, kSeed) {}

  Status Run() {
    for (int i = 0; i < kRandomInputs; ++i) {
      HSTU_RETURN_IF_ERROR(Compare({requests_.OfTokens(RandomTokens())}, "a random input"));
    }
    std::set<int64_t> lengths;
    std::set<int64_t> batches;
    for (const BucketRecord& bucket : subject_.metadata.buckets) {
      for (const int64_t step : {-1, 0, 1}) {
        lengths.insert(bucket.seq_len + step);
        batches.insert(std::max<int64_t>(1, bucket.batch + step));
      }
    }
    for (const int64_t length : lengths) {
      HSTU_RETURN_IF_ERROR(Compare({requests_.OfTokens(length)}, fmt::format("{} tokens", length)));
    }
    for (const int64_t batch : batches) {
      std::vector<Request> together;
      for (int64_t i = 0; i < batch; ++i) {
        together.push_back(requests_.OfTokens(requests_.Number(1, kShortTokens)));
      }
      HSTU_RETURN_IF_ERROR(Compare(together, fmt::format("{} requests together", batch)));
    }
    std::sort(curve_.points.begin(), curve_.points.end());
    return {};
  }

  Metric Result() const {
    return {"consistency",
            "Largest difference from the eager interpreter",
            "",
            LimitSide::kAtMost,
            largest_,
            {},
            fmt::format("{} requests; the largest in {}{}", compared_, where_,
                        subject_.f32() ? ", relative to its largest logit" : "")};
  }
  const Curve& curve() const { return curve_; }

 private:
  // Short ones as often as long ones, a little past the largest bucket.
  int64_t RandomTokens() {
    int64_t longest = 2;
    for (const BucketRecord& bucket : subject_.metadata.buckets) {
      longest = std::max(longest, bucket.seq_len + bucket.seq_len / 8);
    }
    const double share = static_cast<double>(requests_.Number(0, 1000)) / 1000.0;
    return std::max<int64_t>(
        2, std::llround(std::exp(share * std::log(static_cast<double>(longest)))));
  }

  Status Compare(const std::vector<Request>& requests, const std::string& what) {
    const std::vector<Answer> answers = engine_.Rank(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      HSTU_ASSIGN_OR_RETURN(const Answer expected, eager_.Rank(requests[i]));
      if (answers[i].error) return *answers[i].error;
      const double apart =
          LargestDifference<float>(answers[i].logits, expected.logits, subject_.f32());
      curve_.points.emplace_back(requests_.TokensOf(requests[i]), apart);
      ++compared_;
      if (!(apart <= largest_)) {  // NaN too
        largest_ = apart;
        where_ = what;
      }
    }
    return {};
  }

  const Subject& subject_;
  Engine& engine_;
  Eager& eager_;
  RandomRequests requests_;
  Curve curve_{"difference", {}};
  double largest_ = 0.0;
  std::string where_ = "none";
  int64_t compared_ = 0;
};

}  // namespace

Result<Metric> CheckConsistency(const Subject& subject, Plot* plot) {
  HSTU_ASSIGN_OR_RETURN(Engine engine, subject.Load(true, false));
  HSTU_ASSIGN_OR_RETURN(const std::unique_ptr<Eager> eager, subject.LoadEager());
  Consistency consistency(subject, &engine, eager.get());
  HSTU_RETURN_IF_ERROR(consistency.Run());
  *plot = {"Difference from the eager interpreter", "tokens", "difference", {consistency.curve()}};
  return consistency.Result();
}

}  // namespace hstu
