// Which steps run in artifacts, and how often that was so.
#ifndef HSTU_ENGINE_ARTIFACT_STEPS_H_
#define HSTU_ENGINE_ARTIFACT_STEPS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compile/artifacts.h"
#include "engine/piece.h"
#include "hstu/hstu.hpp"

namespace hstu {

class ArtifactSteps {
 public:
  // `artifacts`, whose libraries may be loaded later, may be null: every step runs built in.
  explicit ArtifactSteps(std::unique_ptr<Artifacts> artifacts);

  const Artifacts* artifacts() const { return artifacts_.get(); }

  // The bucket for a step of these pieces, which counts; null: the step runs built in.
  const Artifacts::Bucket* Choose(std::span<const Piece> pieces);
  // Requests that are answered; `hit`: all of their steps ran in buckets.
  void Count(int64_t requests, bool hit);

  void AddTo(EngineStats* stats) const;
  void ForgetCounts();

 private:
  std::unique_ptr<Artifacts> artifacts_;
  std::vector<BucketStats> buckets_;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
};

}  // namespace hstu

#endif  // HSTU_ENGINE_ARTIFACT_STEPS_H_
