#include "engine/forward_ranks.h"

#include <utility>

namespace hstu {

std::unique_ptr<ForwardRanks> MakeForwardRanks(const Model& model, const EngineOptions& options,
                                               RankGroups groups, Trace* trace, int lane) {
  if (groups.layout.group_ranks == 1) return nullptr;
  const int threads = lane;
  const auto exchange = [&](std::unique_ptr<Communicator> group, const char* name) {
    return std::make_unique<Exchange>(std::move(group), name, trace, lane++);
  };
  auto ranks = std::make_unique<ForwardRanks>();
  if (groups.embed != nullptr) {
    ranks->rows =
        std::make_unique<GatheredRows>(model, exchange(std::move(groups.embed), "gather_rows"));
  }
  if (groups.sp != nullptr) {
    ranks->keys = std::make_unique<SharedKeys>();
    ranks->keys->exchange = exchange(std::move(groups.sp), "gather_attention");
    ranks->keys->exact = options.sp_exact;
    ranks->keys->scratch.resize(threads);
  }
  if (groups.heads != nullptr) {
    ranks->heads = std::make_unique<SharedHeads>();
    ranks->heads->exchange = exchange(std::move(groups.heads), "gather_heads");
  }
  return ranks;
}

std::string FormatExchanges(const ForwardRanks& ranks) {
  std::string table;
  if (ranks.rows != nullptr) table += FormatExchange(ranks.rows->exchange());
  if (ranks.keys != nullptr) table += FormatExchange(*ranks.keys->exchange);
  if (ranks.heads != nullptr) table += FormatExchange(*ranks.heads->exchange);
  return table;
}

}  // namespace hstu
