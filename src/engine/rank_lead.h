// Rank 0 takes the calls and tells the other ranks, so that all rankers run the same steps; groups
// of ranks share the users.
#ifndef HSTU_ENGINE_RANK_LEAD_H_
#define HSTU_ENGINE_RANK_LEAD_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/rank_groups.h"
#include "engine/ranker.h"
#include "engine/wire.h"

namespace hstu {

class RankLead {
 public:
  RankLead(Ranker* ranker, const RankLayout& layout, std::shared_ptr<Communicator> world);
  // On rank 0: tells the others that this is the end.
  ~RankLead();

  bool leads() const { return world_->rank() == 0; }

  // On rank 0. See Engine, whose functions these are.
  std::vector<Answer> Rank(std::span<const Request> requests);
  void WaitForSaves();
  void ForgetUsers();

  // On the others: does what rank 0 says, until its end.
  void Follow();

 private:
  enum class Command { kRank, kWaitForSaves, kForgetUsers, kEnd };

  void Tell(Command command, std::vector<std::byte>* payload);
  std::vector<Answer> RankTogether(std::span<const Request> requests);
  std::vector<size_t> OwnRequests(std::span<const Request> requests, int64_t group) const;
  void GatherAnswers(std::span<const Request> requests, std::vector<Answer>* answers) const;

  Ranker& ranker_;
  const RankLayout layout_;
  const std::shared_ptr<Communicator> world_;
  std::mutex mutex_;  // one call at a time, on all ranks
  bool ended_ = false;
};

// The error of the lowest rank that has one, on all ranks.
Status AgreeOnStatus(const Status& own, Communicator* world);

}  // namespace hstu

#endif  // HSTU_ENGINE_RANK_LEAD_H_
