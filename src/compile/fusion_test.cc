#include "compile/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compile/graph_builder.h"
#include "compile/testing.h"

namespace hstu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::vector<std::string> OpsOf(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Fusion, OneLayerIsSixKernels) {
  const Graph fused = Fuse(BuildGraph(SmallConfig({{1, {}}})), false);
  EXPECT_THAT(OpsOf(fused), ElementsAre("embed_tokens", "layer_norm", "in_linear_silu",
                                        "reshape_and_cache", "hstu_attention", "norm_mul",
                                        "linear_residual", "l2_norm", "linear", "linear"));
}

TEST(Fusion, SoftmaxIsOneKernelToo) {
  ModelConfig config = SmallConfig({{1, {}}});
  config.attention = AttentionKind::kSoftmax;
  const Graph graph = BuildGraph(config);
  EXPECT_THAT(OpsOf(graph), Contains("softmax"));
  const Graph fused = Fuse(graph, false);
  EXPECT_THAT(OpsOf(fused), Not(Contains("softmax")));
  EXPECT_THAT(OpsOf(fused), Contains("hstu_attention"));
}

TEST(Fusion, RanksThatShareKeysMergeTheirPartsByAKernel) {
  ModelConfig config = SmallConfig({{1, {}}});
  EXPECT_EQ(OpsOf(BuildGraph(config, 4)), OpsOf(BuildGraph(config)));  // silu: sums
  config.attention = AttentionKind::kSoftmax;
  const Graph fused = Fuse(BuildGraph(config, 4), false);
  EXPECT_THAT(OpsOf(fused),
              ElementsAre("embed_tokens", "layer_norm", "in_linear_silu", "reshape_and_cache",
                          "hstu_attention", "attention_update", "hstu_attention", "norm_mul",
                          "linear_residual", "l2_norm", "linear", "linear"));
  const Node& update = fused.nodes[5];
  const auto shape = [&](int64_t value) { return FormatShape(fused.values[value].shape); };
  EXPECT_EQ(shape(update.inputs[0]), "[4, 2 * n0]");
  EXPECT_EQ(shape(update.inputs[1]), "[4, 2 * n0, 16]");
  EXPECT_EQ(shape(update.outputs[0]), "[2 * n0, 16]");
  EXPECT_EQ(shape(update.outputs[1]), "[2 * n0]");
}

TEST(Fusion, WithoutAResidualTheProjectionIsStillOneKernel) {
  ModelConfig config = SmallConfig({{1, {}}});
  config.residual = false;
  EXPECT_THAT(OpsOf(Fuse(BuildGraph(config), false)), Contains("linear_residual"));
}

TEST(Fusion, Int8PagesAreClosedByAKernel) {
  const Graph graph = BuildGraph(SmallConfig({{1, {}}}));
  EXPECT_THAT(OpsOf(Fuse(graph, false)), Not(Contains("quantize_page")));
  EXPECT_THAT(OpsOf(Fuse(graph, true)), Contains("quantize_page"));
}

// Of models with several stages, int8 pages or not, silu and softmax over ranks.
std::vector<Graph> FusedGraphs() {
  std::vector<Graph> graphs;
  for (const bool int8 : {false, true}) {
    ModelConfig config = SmallConfig({{2, {}}, {1, {4, 2}}});
    graphs.push_back(Fuse(BuildGraph(config), int8));
    config.attention = AttentionKind::kSoftmax;
    graphs.push_back(Fuse(BuildGraph(config, 2), int8));
  }
  return graphs;
}

// Every value that a kernel reads was made by one before it, and no plain operator is left.
TEST(Fusion, KernelsReadWhatKernelsMade) {
  for (const Graph& fused : FusedGraphs()) {
    std::set<int64_t> made;
    for (const Node& node : fused.nodes) {
      for (const int64_t input : node.inputs) {
        EXPECT_TRUE(made.contains(input)) << node.name << " reads " << fused.values[input].name;
      }
      made.insert(node.outputs.begin(), node.outputs.end());
      EXPECT_FALSE(node.op == "silu" || node.op == "scores" || node.op == "add") << node.name;
    }
  }
}

TEST(Fusion, EveryKernelHasANameOfItsOwn) {
  for (const Graph& fused : FusedGraphs()) {
    std::set<std::string> names;
    for (const Node& node : fused.nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
    EXPECT_TRUE(names.contains("head.1.linear"));
  }
}

TEST(Fusion, EveryWeightIsRead) {
  const Graph graph = BuildGraph(SmallConfig({{2, {}}}));
  std::set<std::string> plain;
  for (const Node& node : graph.nodes) plain.insert(node.weights.begin(), node.weights.end());
  std::set<std::string> fused;
  for (const Node& node : Fuse(graph, false).nodes) {
    fused.insert(node.weights.begin(), node.weights.end());
  }
  EXPECT_EQ(plain, fused);
  EXPECT_TRUE(plain.contains("layers.1.uvqk.weight"));
}

TEST(Fusion, EveryBreakHasItsReason) {
  for (const Graph& fused : FusedGraphs()) {
    const std::vector<GraphBreak> breaks = GraphBreaks(fused);
    EXPECT_EQ(breaks.size() + 1, fused.nodes.size());
    for (const GraphBreak& graph_break : breaks) {
      EXPECT_NE(graph_break.reason, "no kernel computes both")
          << graph_break.after << " | " << graph_break.before;
    }
  }
}

}  // namespace
}  // namespace hstu
