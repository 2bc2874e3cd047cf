#include "compile/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "compile/fusion.h"
#include "compile/graph_builder.h"

namespace hstu {
namespace {

using nlohmann::ordered_json;

ordered_json Values(const Graph& graph, const std::vector<int64_t>& values) {
  auto list = ordered_json::array();
  for (const int64_t value : values) {
    list.push_back(
        {{"name", graph.values[value].name}, {"shape", FormatShape(graph.values[value].shape)}});
  }
  return list;
}

ordered_json NodeJson(const Graph& graph, const Node& node) {
  return {{"name", node.name},
          {"op", node.op},
          {"inputs", Values(graph, node.inputs)},
          {"outputs", Values(graph, node.outputs)},
          {"weights", node.weights}};
}

std::string ValueText(const Graph& graph, const std::vector<int64_t>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const int64_t value : values) {
    names.push_back(graph.values[value].name + " " + FormatShape(graph.values[value].shape));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

double Explanation::FallbackShare() const {
  const auto count = std::count_if(fused.nodes.begin(), fused.nodes.end(),
                                   [&](const Node& node) { return fallbacks.contains(node.op); });
  return static_cast<double>(count) / static_cast<double>(fused.nodes.size());
}

Explanation Explain(const ModelConfig& config, int64_t sp_size, bool int8_pages,
                    const std::vector<std::string>& fallback_ops) {
  Explanation explanation;
  explanation.graph = BuildGraph(config, sp_size);
  explanation.fused = Fuse(explanation.graph, int8_pages);
  explanation.fallbacks = FindFallbacks(explanation.fused, fallback_ops);
  return explanation;
}

ordered_json ToJson(const Explanation& explanation) {
  auto graph = ordered_json::array();
  for (const Node& node : explanation.graph.nodes) {
    graph.push_back(NodeJson(explanation.graph, node));
  }
  auto kernels = ordered_json::array();
  for (const Node& node : explanation.fused.nodes) {
    ordered_json kernel = NodeJson(explanation.fused, node);
    kernel["fuses"] = node.fused;
    const auto fallback = explanation.fallbacks.find(node.op);
    const bool found = fallback != explanation.fallbacks.end();
    kernel["fallback"] = found;
    kernel["reason"] = found ? ordered_json(fallback->second) : ordered_json(nullptr);
    kernels.push_back(std::move(kernel));
  }
  auto breaks = ordered_json::array();
  for (const GraphBreak& graph_break : GraphBreaks(explanation.fused)) {
    breaks.push_back({{"after", graph_break.after},
                      {"before", graph_break.before},
                      {"reason", graph_break.reason}});
  }
  return {{"graph", std::move(graph)},
          {"kernels", std::move(kernels)},
          {"breaks", std::move(breaks)},
          {"fallback_share", explanation.FallbackShare()}};
}

std::string ToText(const Explanation& explanation) {
  std::string text = "graph: n0, n1, ... tokens of a stage, m candidates\n";
  for (const Node& node : explanation.graph.nodes) {
    fmt::format_to(std::back_inserter(text), "  {:<16} {}\n", node.op,
                   ValueText(explanation.graph, node.outputs));
  }
  text += "kernels, and what they fuse\n";
  for (const Node& node : explanation.fused.nodes) {
    fmt::format_to(std::back_inserter(text), "  {:<32} {}\n", node.name,
                   node.fused.empty() ? "moves values to their place"
                                      : fmt::format("{}", fmt::join(node.fused, ", ")));
  }
  text += "graph breaks\n";
  for (const GraphBreak& graph_break : GraphBreaks(explanation.fused)) {
    fmt::format_to(std::back_inserter(text), "  {} | {}\n    {}\n", graph_break.after,
                   graph_break.before, graph_break.reason);
  }
  fmt::format_to(std::back_inserter(text), "fallbacks: {:.1f} % of {} kernels\n",
                 100.0 * explanation.FallbackShare(), explanation.fused.nodes.size());
  for (const auto& [op, reason] : explanation.fallbacks) {
    fmt::format_to(std::back_inserter(text), "  {}: {}\n", op, reason);
  }
  return text;
}

}  // namespace hstu
