#include "compile/fusion.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace hstu {
namespace {

// Nodes that follow one another in the plain graph, and the kernel that computes them all.
struct Rule {
  std::vector<std::string> ops;
  const char* fused;
  const char* name;  // of the node, below its layer
};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = {
      {{"gather", "scale", "gather_position", "add"}, "embed_tokens", "embed_tokens"},
      {{"linear", "silu", "split"}, "in_linear_silu", "in_linear_silu"},
      {{"scores", "scale", "silu", "divide", "mask", "weigh"}, "hstu_attention", "hstu_attention"},
      {{"scores", "scale", "mask", "softmax", "weigh"}, "hstu_attention", "hstu_attention"},
      {{"scores", "scale", "mask", "softmax_parts", "weigh_parts"},
       "hstu_attention",
       "hstu_attention_chunk"},
      {{"attention_update"}, "attention_update", "attention_update"},
      {{"join_heads"}, "hstu_attention", "hstu_attention_join"},
      {{"layer_norm", "mul"}, "norm_mul", "norm_mul"},
      {{"layer_norm"}, "layer_norm", "layer_norm"},
      {{"pool_windows", "join"}, "pool_windows", "pool_windows"},
      {{"candidates", "l2_norm"}, "l2_norm", "head.l2_norm"},
  };
  return rules;
}

// A linear of a layer is its output projection, which takes the residual along; one of the head
// takes the ReLU.
const Rule& LinearRule(const Node& node, const Node* next) {
  static const Rule residual = {{"linear", "add"}, "linear_residual", "linear_residual"};
  static const Rule alone = {{"linear"}, "linear_residual", "linear_residual"};
  static const Rule relu = {{"linear", "relu"}, "linear", "linear"};
  static const Rule last = {{"linear"}, "linear", "linear"};
  const auto followed_by = [next](const char* op) { return next != nullptr && next->op == op; };
  if (node.layer >= 0) return followed_by("add") ? residual : alone;
  return followed_by("relu") ? relu : last;
}

class Fuser {
 public:
  Fuser(const Graph& graph, bool int8_pages) : graph_(graph), int8_pages_(int8_pages) {
    fused_.values = graph.values;
  }

  Graph Fuse() {
    for (std::size_t i = 0; i < graph_.nodes.size();) i += FuseAt(i);
    return std::move(fused_);
  }

 private:
  bool Matches(const Rule& rule, std::size_t at) const {
    if (at + rule.ops.size() > graph_.nodes.size()) return false;
    for (std::size_t i = 0; i < rule.ops.size(); ++i) {
      if (graph_.nodes[at + i].op != rule.ops[i]) return false;
    }
    return true;
  }

  // Whether a node of the plain graph from number `first` on reads a value.
  bool IsReadBehind(std::size_t first, int64_t value) const {
    return std::any_of(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                       graph_.nodes.end(), [value](const Node& node) {
                         return std::find(node.inputs.begin(), node.inputs.end(), value) !=
                                node.inputs.end();
                       });
  }

  // Returns how many nodes went into the one that was added. A node that no rule knows stays.
  std::size_t FuseAt(std::size_t at) {
    for (const Rule& rule : Rules()) {
      if (Matches(rule, at)) return Take(rule, at);
    }
    const Node& node = graph_.nodes[at];
    if (node.op == "linear") {
      return Take(LinearRule(node, at + 1 < graph_.nodes.size() ? &node + 1 : nullptr), at);
    }
    if (IsLibraryOp(node.op)) fused_.values[node.outputs[0]].buffer = x_;  // in place
    fused_.nodes.push_back(node);
    return 1;
  }

  std::size_t Take(const Rule& rule, std::size_t at) {
    Node node;
    node.op = rule.fused;
    node.stage = graph_.nodes[at].stage;
    node.layer = graph_.nodes[at].layer;
    std::vector<int64_t> made;
    for (std::size_t i = 0; i < rule.ops.size(); ++i) {
      const Node& part = graph_.nodes[at + i];
      node.fused.push_back(part.op);
      node.weights.insert(node.weights.end(), part.weights.begin(), part.weights.end());
      for (const int64_t input : part.inputs) {
        const bool inner = std::find(made.begin(), made.end(), input) != made.end();
        const bool known =
            std::find(node.inputs.begin(), node.inputs.end(), input) != node.inputs.end();
        if (!inner && !known) node.inputs.push_back(input);
      }
      made.insert(made.end(), part.outputs.begin(), part.outputs.end());
    }
    node.outputs = graph_.nodes[at + rule.ops.size() - 1].outputs;
    for (const int64_t value : made) {
      const bool listed =
          std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end();
      if (!listed && IsReadBehind(at + rule.ops.size(), value)) node.outputs.push_back(value);
    }
    node.name = NameOf(rule, node);
    Place(&node, at);
    return rule.ops.size();
  }

  static std::string NameOf(const Rule& rule, const Node& node) {
    if (node.layer >= 0) return "layers." + std::to_string(node.layer) + "." + rule.name;
    if (node.op == "linear") {  // such as "head.0.linear"
      const std::string& weight = node.weights.front();
      return weight.substr(0, weight.rfind('.') + 1) + rule.name;
    }
    if (node.op == "pool_windows") return "stages." + std::to_string(node.stage) + "." + rule.name;
    return rule.name;
  }

  // Chooses where the results lie: in place where nobody reads what was there any more.
  void Place(Node* node, std::size_t at) {
    Value& output = fused_.values[node->outputs[0]];
    if (node->op == "embed_tokens" || node->op == "pool_windows") {
      x_ = output.buffer = next_buffer_++;
      uvqk_ = next_buffer_++;
    } else if (node->op == "in_linear_silu") {
      const int64_t whole = graph_.nodes[at + 1].outputs[0];  // U, V, Q and K are views of it
      fused_.values[whole].buffer = uvqk_;
      for (const int64_t part : node->outputs) fused_.values[part].buffer = uvqk_;
    } else if (node->op == "attention_update" || node->fused.back() == "weigh_parts") {
      for (const int64_t value : node->outputs) fused_.values[value].storage = Storage::kScratch;
    } else if (node->op == "hstu_attention" || node->op == "norm_mul") {
      output.buffer = uvqk_;  // in Q's and U's place
    } else if (node->op == "linear_residual") {
      output.buffer = x_;
    } else if (output.name == "logits") {
      output.buffer = next_buffer_++;
    } else {
      output.storage = Storage::kScratch;
    }
    // K and V of history are read from their pages; of candidates, where they are.
    if (node->fused.front() == "scores") {
      node->inputs.insert(node->inputs.end(), {keys_, values_});
    }
    Keep(std::move(*node));
    if (fused_.nodes.back().op == "in_linear_silu") AddPages();
  }

  void Keep(Node node) { fused_.nodes.push_back(std::move(node)); }

  // K and V of history go to pages, which attention reads.
  void AddPages() {
    const Node& source = fused_.nodes.back();
    const auto [stage, layer] = std::pair(source.stage, source.layer);
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    const std::vector<int64_t> parts = source.outputs;  // U, V, Q, K
    const Shape shape = fused_.values[parts[1]].shape;
    keys_ = fused_.Add(prefix + "k.pages", shape);
    values_ = fused_.Add(prefix + "v.pages", shape);
    for (const int64_t pages : {keys_, values_}) fused_.values[pages].storage = Storage::kPages;
    Keep({prefix + "reshape_and_cache",
          "reshape_and_cache",
          stage,
          layer,
          {parts[3], parts[1]},
          {keys_, values_},
          {},
          {}});
    if (!int8_pages_) return;
    Keep({prefix + "quantize_page",
          "quantize_page",
          stage,
          layer,
          {keys_, values_},
          {keys_, values_},
          {},
          {}});
  }

  const Graph& graph_;
  const bool int8_pages_;
  Graph fused_;
  int64_t next_buffer_ = 0;
  int64_t x_ = -1;
  int64_t uvqk_ = -1;
  int64_t keys_ = -1;
  int64_t values_ = -1;
};

struct Reason {
  const char* after;
  const char* before;
  const char* text;
};

constexpr Reason kReasons[] = {
    {"embed_tokens", "layer_norm",
     "the rows are the layer's residual too: they are written once, then read by both"},
    {"layer_norm", "in_linear_silu",
     "a row's mean and variance must be known before its first product; both run on one block of "
     "rows in cache"},
    {"in_linear_silu", "reshape_and_cache",
     "pages belong to users, projections to rows: K and V of history move while they are in cache"},
    {"reshape_and_cache", "hstu_attention",
     "attention reads keys that other rows made: all rows of the layer must be there"},
    {"reshape_and_cache", "quantize_page", "a page's scale is known when its last token is"},
    {"quantize_page", "hstu_attention",
     "attention reads pages that other rows filled: all must be closed"},
    {"hstu_attention", "attention_update", "all ranks' parts must have come"},
    {"attention_update", "hstu_attention",
     "the merge knows rows, the join where candidates' own keys and each row's place are"},
    {"hstu_attention", "norm_mul",
     "LayerNorm is over all heads, attention computes one head at a time"},
    {"norm_mul", "linear_residual",
     "a product needs all of a row, LayerNorm ends with its last element; both run on one block of "
     "rows in cache"},
    {"linear_residual", "layer_norm",
     "a row's mean and variance need all columns of the projection; both run on one block of rows "
     "in cache"},
    {"linear_residual", "pool_windows", "a window's mean needs rows that other threads make"},
    {"pool_windows", "layer_norm",
     "the rows are the layer's residual too: they are written once, then read by both"},
    {"linear_residual", "l2_norm", "only rows of candidates go on, and a row's length needs all"},
    {"l2_norm", "linear", "a row's length must be known before its first product"},
    {"linear", "linear", "a product needs all columns of the one before"},
};

std::string ReasonOf(const std::string& after, const std::string& before) {
  if (IsLibraryOp(after) || IsLibraryOp(before)) return "a library's code can't be fused";
  for (const Reason& reason : kReasons) {
    if (after == reason.after && before == reason.before) return reason.text;
  }
  return "no kernel computes both";
}

}  // namespace

Graph Fuse(const Graph& graph, bool int8_pages) { return Fuser(graph, int8_pages).Fuse(); }

std::vector<GraphBreak> GraphBreaks(const Graph& fused) {
  std::vector<GraphBreak> breaks;
  for (std::size_t i = 1; i < fused.nodes.size(); ++i) {
    const Node& after = fused.nodes[i - 1];
    const Node& before = fused.nodes[i];
    breaks.push_back({after.name, before.name, ReasonOf(after.op, before.op)});
  }
  return breaks;
}

}  // namespace hstu
