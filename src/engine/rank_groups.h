// How ranks share the work: which of them compute the same requests, and what each has of the
// model and of users' histories.
#ifndef HSTU_ENGINE_RANK_GROUPS_H_
#define HSTU_ENGINE_RANK_GROUPS_H_

#include <cstdint>
#include <memory>

#include "hstu/hstu.hpp"
#include "model/config.h"
#include "model/model_part.h"
#include "ranks/communicator.h"

namespace hstu {

// Ranks in groups that compute the same requests. In a group, sp_size times heads_tp_size
// neighbours share attention, embed_tp_size neighbours share tables.
struct RankLayout {
  int64_t ranks = 1;
  int64_t group_ranks = 1;
  int64_t embed_tp = 1;
  int64_t sp = 1;
  int64_t heads_tp = 1;

  int64_t groups() const { return ranks / group_ranks; }
  int64_t Group(int64_t rank) const { return rank / group_ranks; }
  int64_t SpRank(int64_t rank) const { return rank % sp; }
  int64_t HeadRank(int64_t rank) const { return rank / sp % heads_tp; }
  int64_t TableRank(int64_t rank) const { return rank % embed_tp; }
  ModelPart PartOf(int64_t rank, const EngineOptions& options) const;
};

// Checks the options for that many ranks, before anything is loaded. Errors (kBadArgument) name the
// option, what doesn't divide, and how many ranks to start.
Result<RankLayout> LayOutRanks(const EngineOptions& options, const ModelConfig& config,
                               int64_t ranks);

// The communicators of one rank; null where it shares nothing of the kind.
struct RankGroups {
  RankLayout layout;
  std::shared_ptr<Communicator> world;
  std::unique_ptr<Communicator> embed;
  std::unique_ptr<Communicator> sp;
  std::unique_ptr<Communicator> heads;

  static RankGroups Make(const RankLayout& layout, std::shared_ptr<Communicator> world);
};

}  // namespace hstu

#endif  // HSTU_ENGINE_RANK_GROUPS_H_
