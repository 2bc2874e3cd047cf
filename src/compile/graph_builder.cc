#include "compile/graph_builder.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "compile/attention_update_shapes.h"

namespace hstu {
namespace {

class Builder {
 public:
  Builder(const ModelConfig& config, int64_t sp_size) : config_(config), sp_size_(sp_size) {}

  Graph Build() {
    int64_t x = Embed();
    int64_t layer = 0;
    for (std::size_t stage = 0; stage < config_.stages.size(); ++stage) {
      stage_ = static_cast<int64_t>(stage);
      if (stage > 0) x = EnterStage(x);
      for (int64_t i = 0; i < config_.stages[stage].num_layers; ++i) x = Layer(layer++, x);
    }
    Head(x);
    return std::move(graph_);
  }

 private:
  Dim Tokens() const { return {1, fmt::format("n{}", stage_)}; }
  Shape Rows(int64_t width) const { return {Tokens(), {width, ""}}; }
  Shape Scores() const { return {{config_.num_attention_heads, ""}, Tokens(), Tokens()}; }
  static Shape Candidates(int64_t width) { return {{1, "m"}, {width, ""}}; }

  // Adds a node named `name` below the running prefix, with one output of its name.
  int64_t Add(const std::string& name, const std::string& op, std::vector<int64_t> inputs,
              Shape shape, std::vector<std::string> weights = {}) {
    const int64_t value = graph_.Add(prefix_ + name, std::move(shape));
    graph_.nodes.push_back(
        {prefix_ + name, op, stage_, layer_, std::move(inputs), {value}, std::move(weights), {}});
    return value;
  }

  int64_t Embed() {
    std::vector<std::string> tables;
    for (const EmbeddingTable& table : config_.embedding_tables) {
      tables.push_back(fmt::format("embedding.{}.weight", table.name));
    }
    const int64_t width = config_.hidden_size;
    const int64_t rows = Add("tokens", "gather", {}, Rows(width), std::move(tables));
    const int64_t scaled = Add("tokens.scaled", "scale", {rows}, Rows(width));
    const int64_t positions =
        Add("positions", "gather_position", {}, Rows(width), {"position.weight"});
    const int64_t embedded = Add("embedded", "add", {scaled, positions}, Rows(width));
    return RowOperators("embedded", config_.embedding_operators, embedded);
  }

  int64_t RowOperators(const std::string& prefix, const std::vector<std::string>& operators,
                       int64_t x) {
    for (const std::string& op : operators) {
      x = Add(prefix + "." + op, kLibraryOp + op, {x}, Rows(config_.hidden_size));
    }
    return x;
  }

  int64_t EnterStage(int64_t x) {
    const int64_t width = config_.hidden_size;
    prefix_ = fmt::format("stages.{}.", stage_);
    const int64_t pooled = Add("pooled", "pool_windows", {x}, Rows(width));
    const int64_t joined = Add("joined", "join", {pooled, x}, Rows(width));
    prefix_.clear();
    return joined;
  }

  int64_t Layer(int64_t layer, int64_t x) {
    layer_ = layer;
    prefix_ = fmt::format("layers.{}.", layer);
    const int64_t width = config_.attention_width();
    const int64_t normed = Add("normed", "layer_norm", {x}, Rows(config_.hidden_size),
                               {prefix_ + "input_norm.weight", prefix_ + "input_norm.bias"});
    const int64_t sums = Add("uvqk.sums", "linear", {normed}, Rows(4 * width),
                             {prefix_ + "uvqk.weight", prefix_ + "uvqk.bias"});
    const int64_t uvqk = Add("uvqk", "silu", {sums}, Rows(4 * width));
    const std::vector<int64_t> parts = Split(uvqk);
    const int64_t attention = Attention(parts[2], parts[3], parts[1]);
    const int64_t gate = Add("attention.normed", "layer_norm", {attention}, Rows(width),
                             {prefix_ + "output_norm.weight", prefix_ + "output_norm.bias"});
    const int64_t gated = Add("gated", "mul", {gate, parts[0]}, Rows(width));
    int64_t out =
        Add("projected", "linear", {gated}, Rows(config_.hidden_size), {prefix_ + "proj.weight"});
    if (config_.residual) out = Add("out", "add", {out, x}, Rows(config_.hidden_size));
    layer_ = -1;
    prefix_.clear();
    return out;
  }

  // U, V, Q and K: views of one value.
  std::vector<int64_t> Split(int64_t uvqk) {
    std::vector<int64_t> parts;
    for (const char* part : {"u", "v", "q", "k"}) {
      parts.push_back(graph_.Add(prefix_ + part, Rows(config_.attention_width())));
    }
    graph_.nodes.push_back({prefix_ + "split", "split", stage_, layer_, {uvqk}, parts, {}, {}});
    return parts;
  }

  int64_t Attention(int64_t q, int64_t k, int64_t v) {
    int64_t scores = Add("scores", "scores", {q, k}, Scores());
    scores = Add("scores.scaled", "scale", {scores}, Scores());
    if (config_.attention == AttentionKind::kSilu) {
      scores = Add("scores.silu", "silu", {scores}, Scores());
      scores = Add("scores.divided", "divide", {scores}, Scores());
      scores = Add("scores.masked", "mask", {scores}, Scores());
    } else {
      scores = Add("scores.masked", "mask", {scores}, Scores());
      if (sp_size_ > 1) return MergedAttention(scores, v);
      scores = Add("scores.softmax", "softmax", {scores}, Scores());
    }
    return Add("attention", "weigh", {scores, v}, Rows(config_.attention_width()));
  }

  // Each rank's softmax over its part of the keys, and all of them as one.
  int64_t MergedAttention(int64_t scores, int64_t v) {
    const Dim ranks{sp_size_, ""};
    const Dim rows{config_.num_attention_heads, Tokens().symbol};
    const int64_t softmax = Add("parts.softmax", "softmax_parts", {scores}, Scores());
    const int64_t lse = graph_.Add(prefix_ + "parts.lse", {ranks, rows});
    graph_.nodes.back().outputs.push_back(lse);
    const int64_t parts =
        Add("parts", "weigh_parts", {softmax, v}, {ranks, rows, {config_.kv_channels, ""}});
    const AttentionUpdateShapes shapes =
        InferAttentionUpdate(graph_.values[lse].shape, graph_.values[parts].shape).value();
    const int64_t merged = Add("merged", "attention_update", {lse, parts}, shapes.out);
    graph_.nodes.back().outputs.push_back(graph_.Add(prefix_ + "merged.lse", shapes.lse));
    return Add("attention", "join_heads", {merged, graph_.nodes.back().outputs[1]},
               Rows(config_.attention_width()));
  }

  void Head(int64_t x) {
    const int64_t width = config_.hidden_size;
    x = RowOperators("head", config_.head_operators, x);
    int64_t value = Add("candidates", "candidates", {x}, Candidates(width));
    value = Add("head.normed", "l2_norm", {value}, Candidates(width));
    const std::size_t layers = config_.prediction_head_arch.size();
    for (std::size_t i = 0; i < layers; ++i) {
      const std::string name = fmt::format("head.{}", i);
      std::vector<std::string> weights = {name + ".weight"};
      if (config_.prediction_head_bias) weights.push_back(name + ".bias");
      const bool last = i + 1 == layers;
      const Shape shape = Candidates(config_.prediction_head_arch[i]);
      value = Add(last ? "logits" : name + ".sums", "linear", {value}, shape, std::move(weights));
      if (!last) value = Add(name, "relu", {value}, shape);
    }
  }

  const ModelConfig& config_;
  const int64_t sp_size_;
  Graph graph_;
  std::string prefix_;
  int64_t stage_ = 0;
  int64_t layer_ = -1;
};

}  // namespace

Graph BuildGraph(const ModelConfig& config, int64_t sp_size) {
  return Builder(config, sp_size).Build();
}

}  // namespace hstu
