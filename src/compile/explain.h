// hstu explain: a model's graph, what is fused, where the graph breaks and why.
#ifndef HSTU_COMPILE_EXPLAIN_H_
#define HSTU_COMPILE_EXPLAIN_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compile/fallbacks.h"
#include "compile/graph.h"
#include "model/config.h"

namespace hstu {

struct Explanation {
  Graph graph;  // plain
  Graph fused;
  Fallbacks fallbacks;

  // Of the fused graph's nodes.
  double FallbackShare() const;
};

// `sp_size`: see BuildGraph.
Explanation Explain(const ModelConfig& config, int64_t sp_size, bool int8_pages,
                    const std::vector<std::string>& fallback_ops);

nlohmann::ordered_json ToJson(const Explanation& explanation);
std::string ToText(const Explanation& explanation);

}  // namespace hstu

#endif  // HSTU_COMPILE_EXPLAIN_H_
