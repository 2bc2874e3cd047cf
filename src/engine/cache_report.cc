#include "engine/cache_report.h"

#include <nlohmann/json.hpp>

namespace hstu {
namespace {

using nlohmann::ordered_json;

ordered_json InPool(const UserState& user, const KvLayout& layout) {
  ordered_json json{{"user_id", user.user_id}, {"tier", "pool"}, {"num_context", user.num_context}};
  int64_t bytes = 0;
  for (size_t i = 0; i < user.stages.size(); ++i) {
    const UserStage& stage = user.stages[i];
    json["stages"].push_back(
        {{"first", stage.first}, {"count", stage.count}, {"pages", stage.table}});
    bytes += static_cast<int64_t>(stage.table.size()) * layout.stages[i].num_layers *
             LayerPageBytes(layout.page);
  }
  json["bytes"] = bytes;
  json["tokens"] = user.tokens;
  return json;
}

ordered_json InTier(const StateHeader& header, const char* tier) {
  ordered_json json{
      {"user_id", header.user_id}, {"tier", tier}, {"num_context", header.num_context}};
  for (const SavedStage& stage : header.stages) {
    json["stages"].push_back({{"first", stage.first}, {"count", stage.count}});
  }
  json["bytes"] = header.PartBytes();
  json["tokens"] = header.tokens;
  for (const StatePart& part : header.parts) {
    json["parts"].push_back({{"layer", part.layer},
                             {"first_page", part.first_page},
                             {"pages", part.pages},
                             {"bytes", part.bytes}});
  }
  return json;
}

}  // namespace

std::string DescribeCache(const KvCache& cache, UserTiers* tiers,
                          const std::optional<std::string>& user_id) {
  ordered_json json;
  json["page_size"] = cache.pool().layout().page.page_tokens;
  json["users"] = ordered_json::array();
  cache.ForEach([&](const UserState& user) {
    if (!user_id || user.user_id == *user_id) {
      json["users"].push_back(InPool(user, cache.pool().layout()));
    }
  });
  if (tiers != nullptr) {
    tiers->transfers().Drain();
    TierStack& stack = tiers->transfers().tiers();
    json["identity"] = stack.identity();
    for (size_t i = 0; i < stack.size(); ++i) {
      const std::vector<std::string> users =
          user_id ? std::vector{*user_id} : stack.tier(i).Users();
      for (const std::string& user : users) {
        const std::optional<StateHeader> header = stack.HeaderIn(i, user);
        if (header) json["users"].push_back(InTier(*header, stack.tier(i).name()));
      }
    }
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

void AddTierStats(const Transfers& transfers, const std::vector<int64_t>& tokens,
                  EngineStats* stats) {
  const TransferCounters counters = transfers.counters();
  stats->kv_arrivals = counters.arrivals;
  stats->kv_arrivals_failed = counters.arrivals_failed;
  stats->kv_saves = counters.saves;
  stats->kv_saves_dropped = counters.saves_dropped;
  stats->kv_waits = counters.waits;
  stats->kv_arrival_seconds = counters.arrival_seconds;
  const std::vector<TierCounters> tiers = transfers.tiers().counters();
  for (size_t i = 0; i < tiers.size(); ++i) {
    const TierCounters& tier = tiers[i];
    stats->tiers.push_back({tier.name, tier.hits, tier.misses, tokens[i], tier.usage.users,
                            tier.usage.bytes, tier.usage.users_evicted, tier.bytes_read,
                            tier.bytes_written, tier.damaged, tier.errors});
  }
}

}  // namespace hstu
