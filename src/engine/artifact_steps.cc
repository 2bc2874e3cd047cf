#include "engine/artifact_steps.h"

#include <algorithm>
#include <utility>

namespace hstu {

ArtifactSteps::ArtifactSteps(std::unique_ptr<Artifacts> artifacts)
    : artifacts_(std::move(artifacts)) {
  ForgetCounts();
}

void ArtifactSteps::ForgetCounts() {
  hits_ = 0;
  misses_ = 0;
  buckets_.clear();
  for (int64_t i = 0; artifacts_ != nullptr && i < artifacts_->num_buckets(); ++i) {
    const BucketRecord& record = artifacts_->record(i);
    buckets_.push_back({record.seq_len, record.batch, 0, 0});
  }
}

const Artifacts::Bucket* ArtifactSteps::Choose(std::span<const Piece> pieces) {
  if (artifacts_ == nullptr) return nullptr;
  int64_t longest = 0;
  int64_t rows = 0;
  for (const Piece& piece : pieces) {
    const int64_t computed = piece.stages[0].history_count + piece.candidate_count;
    longest = std::max(longest, computed);
    rows += computed;
  }
  const int64_t index = artifacts_->Find(longest, static_cast<int64_t>(pieces.size()), rows);
  const Artifacts::Bucket* bucket = index < 0 ? nullptr : artifacts_->Use(index);
  if (bucket != nullptr) {
    ++buckets_[index].steps;
    buckets_[index].requests += static_cast<int64_t>(pieces.size());
  }
  return bucket;
}

void ArtifactSteps::Count(int64_t requests, bool hit) {
  if (artifacts_ != nullptr) (hit ? hits_ : misses_) += requests;
}

void ArtifactSteps::AddTo(EngineStats* stats) const {
  stats->artifact_hits = hits_;
  stats->artifact_misses = misses_;
  stats->buckets = buckets_;
}

}  // namespace hstu
