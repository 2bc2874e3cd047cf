#include "engine/rank_groups.h"

#include <numeric>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

Status CheckSize(const char* option, int64_t size) {
  if (size >= 1) return {};
  return MakeError(ErrorCode::kBadArgument, "{} {}: it is at least 1", option, size);
}

// Ranks of one group: each size divides them, and none is left without a part.
Result<int64_t> GroupRanks(const EngineOptions& options, int64_t ranks) {
  const int64_t attention = options.sp_size * options.heads_tp_size;
  const int64_t least = std::lcm(options.embed_tp_size, attention);
  if (options.dp && ranks % least == 0) return least;
  const bool all_used = options.embed_tp_size * attention % ranks == 0;
  if (!options.dp && ranks % least == 0 && all_used) return ranks;
  return MakeError(ErrorCode::kBadArgument,
                   "ranks: {} don't divide into embed-tp-size {}, sp-size {} and heads-tp-size {}: "
                   "start {} with "
                   "`mpirun -np {} ...`{}",
                   ranks, options.embed_tp_size, options.sp_size, options.heads_tp_size, least,
                   least, options.dp ? ", or a multiple of it" : "; --dp spreads users over more");
}

// What an engine with ranks can't do: its ranks decide alike about users, by what they alone know.
Status CheckAlike(const EngineOptions& options) {
  if (options.host_bytes > 0 || !options.disk.empty() || !options.redis.empty() ||
      !options.cache_log.empty()) {
    return MakeError(ErrorCode::kBadArgument,
                     "host-bytes, disk, redis and cache-log are for engines whose ranks share no "
                     "request: leave them out, or share none of tables, histories and heads");
  }
  return {};
}

}  // namespace

ModelPart RankLayout::PartOf(int64_t rank, const EngineOptions& options) const {
  return {embed_tp, TableRank(rank), options.embed_tp_min_rows, heads_tp, HeadRank(rank)};
}

Result<RankLayout> LayOutRanks(const EngineOptions& options, const ModelConfig& config,
                               int64_t ranks) {
  HSTU_RETURN_IF_ERROR(CheckSize("embed-tp-size", options.embed_tp_size));
  HSTU_RETURN_IF_ERROR(CheckSize("embed-tp-min-rows", options.embed_tp_min_rows));
  HSTU_RETURN_IF_ERROR(CheckSize("sp-size", options.sp_size));
  HSTU_RETURN_IF_ERROR(CheckSize("heads-tp-size", options.heads_tp_size));
  if (config.num_attention_heads % options.heads_tp_size != 0) {
    return MakeError(ErrorCode::kBadArgument,
                     "heads-tp-size {} doesn't divide the model's {} heads", options.heads_tp_size,
                     config.num_attention_heads);
  }
  if (options.sp_size > 1 && options.fused_ops != "all") {
    return MakeError(ErrorCode::kBadArgument,
                     "sp-size {} needs the fused hstu_attention: leave fused-ops \"{}\" out",
                     options.sp_size, options.fused_ops);
  }
  HSTU_ASSIGN_OR_RETURN(const int64_t group_ranks, GroupRanks(options, ranks));
  if (group_ranks > 1) HSTU_RETURN_IF_ERROR(CheckAlike(options));
  return RankLayout{ranks, group_ranks, options.embed_tp_size, options.sp_size,
                    options.heads_tp_size};
}

RankGroups RankGroups::Make(const RankLayout& layout, std::shared_ptr<Communicator> world) {
  RankGroups groups;
  groups.layout = layout;
  const int64_t rank = world->rank();
  const auto split = [&](int64_t size, int64_t color) -> std::unique_ptr<Communicator> {
    return size == 1 ? nullptr : world->Split(static_cast<int>(color));
  };
  groups.embed = split(layout.embed_tp, rank / layout.embed_tp);
  groups.sp = split(layout.sp, rank / layout.sp);
  const int64_t attention = layout.sp * layout.heads_tp;
  groups.heads = split(layout.heads_tp, rank / attention * layout.sp + layout.SpRank(rank));
  groups.world = std::move(world);
  return groups;
}

}  // namespace hstu
