// What the KV cache holds and did, for people and for other programs.
#ifndef HSTU_ENGINE_CACHE_REPORT_H_
#define HSTU_ENGINE_CACHE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/kv_cache.h"
#include "engine/user_tiers.h"
#include "hstu/hstu.hpp"

namespace hstu {

// JSON: every state of every user, or of one, in the pool and in each tier that knows its users.
// `tiers` may be null.
std::string DescribeCache(const KvCache& cache, UserTiers* tiers,
                          const std::optional<std::string>& user_id);

// `tokens`: of each tier, not computed thanks to it.
void AddTierStats(const Transfers& transfers, const std::vector<int64_t>& tokens,
                  EngineStats* stats);

}  // namespace hstu

#endif  // HSTU_ENGINE_CACHE_REPORT_H_
