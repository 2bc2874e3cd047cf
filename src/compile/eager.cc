#include "compile/eager.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/error.h"
#include "compile/eager_operators.h"
#include "compile/graph_builder.h"
#include "kernels/gemm.h"
#include "kernels/operator_library.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

constexpr int64_t kRows = 48;  // that a task takes

// A result [..., rows, cols]. A view has another's memory.
struct Tensor {
  AlignedArray<float> own;
  float* data = nullptr;
  int64_t planes = 1;  // heads, of scores
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;
  int64_t bytes = 0;    // of `own`
  int64_t source = -1;  // of a view

  Matrix view() const { return {data, rows, cols, stride}; }
};

}  // namespace

// One request on its way through the graph.
class Eager::Run {
 public:
  Run(Eager* eager, const UserTokens& tokens)
      : eager_(*eager),
        config_(eager->model_.config()),
        eager_operators_(EagerOperatorsFor(eager->isa_)),
        tokens_(tokens),
        candidates_(static_cast<int64_t>(tokens.candidates.size())),
        history_(CompleteTokens(config_.stages, tokens.history_tokens())),
        tensors_(eager->graph_.values.size()),
        readers_(eager->graph_.values.size(), 0) {
    for (const Node& node : eager->graph_.nodes) {
      for (const int64_t input : node.inputs) ++readers_[input];
    }
  }

  std::vector<float> Logits() {
    std::vector<float> logits;
    for (const Node& node : eager_.graph_.nodes) {
      Compute(node);
      if (&node == &eager_.graph_.nodes.back()) {
        const Tensor& out = tensors_[node.outputs[0]];
        logits.assign(out.data, out.data + out.rows * out.cols);
      }
      for (const int64_t input : node.inputs) Release(input);
    }
    return logits;
  }

 private:
  int64_t Rows(const Node& node) const { return history_[node.stage] + candidates_; }

  // The output, in memory of its own.
  Tensor& Make(const Node& node, int64_t planes, int64_t rows, int64_t cols) {
    Tensor& out = tensors_[node.outputs[0]];
    const int64_t size = planes * rows * cols;
    out.own = Allocate(size);
    out.data = out.own.get();
    out.planes = planes;
    out.rows = rows;
    out.cols = out.stride = cols;
    out.bytes = size * static_cast<int64_t>(sizeof(float));
    live_bytes_ += out.bytes;
    eager_.peak_bytes_ = std::max(eager_.peak_bytes_, live_bytes_);
    return out;
  }
  AlignedArray<float> Allocate(int64_t size) {
    const auto found = eager_.free_.find(size);
    if (found == eager_.free_.end()) return AllocateAligned<float>(size);
    AlignedArray<float> memory = std::move(found->second);
    eager_.free_.erase(found);
    return memory;
  }
  Tensor& MakeLike(const Node& node, const Tensor& in) {
    return Make(node, in.planes, in.rows, in.cols);
  }

  void Release(int64_t value) {
    Tensor& tensor = tensors_[value];
    if (--readers_[value] > 0) return;
    if (tensor.source >= 0) return Release(tensor.source);
    live_bytes_ -= tensor.bytes;
    const auto size = tensor.bytes / static_cast<int64_t>(sizeof(float));
    if (tensor.own != nullptr) eager_.free_.emplace(size, std::move(tensor.own));
    tensor = Tensor();
  }

  const Tensor& In(const Node& node, std::size_t index) const {
    return tensors_[node.inputs[index]];
  }

  void Compute(const Node& node) {
    using Method = void (Run::*)(const Node& node);
    static const std::unordered_map<std::string, Method> methods = {
        {"gather", &Run::Gather},
        {"gather_position", &Run::GatherPosition},
        {"scale", &Run::Scale},
        {"divide", &Run::Divide},
        {"add", &Run::Add},
        {"mul", &Run::Mul},
        {"silu", &Run::Silu},
        {"relu", &Run::Relu},
        {"layer_norm", &Run::LayerNorm},
        {"linear", &Run::Linear},
        {"split", &Run::Split},
        {"scores", &Run::Scores},
        {"mask", &Run::Mask},
        {"softmax", &Run::Softmax},
        {"weigh", &Run::Weigh},
        {"pool_windows", &Run::PoolWindows},
        {"join", &Run::Join},
        {"candidates", &Run::Candidates},
        {"l2_norm", &Run::L2Norm},
    };
    if (IsLibraryOp(node.op)) return Library(node);
    (this->*methods.at(node.op))(node);
  }

  // body(begin, count) for blocks of rows.
  template <typename Body>
  void ForRows(int64_t rows, const Body& body) {
    eager_.pool_.Run(CeilDiv(rows, kRows), [&](int64_t task, int) {
      body(task * kRows, std::min(kRows, rows - task * kRows));
    });
  }

  // body(in, size, out) for rows of the first input, which may have any stride.
  template <typename Body>
  void Elementwise(const Node& node, const Body& body) {
    const Tensor& in = In(node, 0);
    Tensor& out = MakeLike(node, in);
    ForRows(in.planes * in.rows, [&](int64_t begin, int64_t count) {
      for (int64_t row = begin; row < begin + count; ++row) {
        body(row, in.data + row * in.stride, in.cols, out.data + row * out.stride);
      }
    });
  }

  template <typename Operator>
  void Binary(const Node& node, const Operator& apply) {
    const Tensor& other = In(node, 1);
    Elementwise(node, [&](int64_t row, const float* in, int64_t size, float* out) {
      apply(in, other.data + row * other.stride, size, out);
    });
  }

  void Scale(const Node& node) {
    const float factor = node.layer < 0 ? std::sqrt(static_cast<float>(config_.hidden_size))
                                        : 1.0f / std::sqrt(static_cast<float>(config_.kv_channels));
    Elementwise(node, [&](int64_t, const float* in, int64_t size, float* out) {
      eager_operators_.scale(in, factor, size, out);
    });
  }
  void Divide(const Node& node) {
    const float factor = 1.0f / static_cast<float>(config_.scaling_seqlen);
    Elementwise(node, [&](int64_t, const float* in, int64_t size, float* out) {
      eager_operators_.scale(in, factor, size, out);
    });
  }
  void Silu(const Node& node) {
    Elementwise(node, [&](int64_t, const float* in, int64_t size, float* out) {
      eager_operators_.silu(in, size, out);
    });
  }
  void Relu(const Node& node) {
    Elementwise(node, [&](int64_t, const float* in, int64_t size, float* out) {
      eager_operators_.relu(in, size, out);
    });
  }
  void Softmax(const Node& node) {
    Elementwise(node, [&](int64_t, const float* in, int64_t size, float* out) {
      eager_operators_.softmax(in, size, out);
    });
  }
  void Add(const Node& node) { Binary(node, eager_operators_.add); }
  void Mul(const Node& node) { Binary(node, eager_operators_.mul); }

  void Library(const Node& node) {
    const Tensor& in = In(node, 0);
    Tensor& out = MakeLike(node, in);
    const RowOperator& op = eager_.row_operators_.at(node.op);
    ForRows(in.rows, [&](int64_t begin, int64_t count) {
      std::copy_n(in.data + begin * in.stride, count * in.cols, out.data + begin * out.stride);
      RunRowOperator(op, out.view().Rows(begin, count), nullptr);
    });
  }

  // A row of a table as f32.
  void CopyRow(const RowTable& table, int64_t row, float* out) const {
    const auto element = static_cast<int64_t>(SizeOf(table.dtype));
    LoadFloats(table.dtype, table.data + row * config_.hidden_size * element,
               static_cast<std::size_t>(config_.hidden_size), out);
  }

  void Gather(const Node& node) {
    Tensor& out = Make(node, 1, Rows(node), config_.hidden_size);
    float* row = out.data;
    const auto add = [&](const RowTable& table, int64_t id) {
      CopyRow(table, id, row);
      row += config_.hidden_size;
    };
    const Model& model = eager_.model_;
    for (std::size_t i = 0; i < tokens_.contextual.size(); ++i) {
      add(model.contextual_tables()[i], tokens_.contextual[i]);
    }
    for (std::size_t i = 0; i < tokens_.items.size(); ++i) {
      add(model.item_table(), tokens_.items[i]);
      if (model.action_table().data != nullptr) add(model.action_table(), tokens_.actions[i]);
    }
    for (const int64_t candidate : tokens_.candidates) add(model.item_table(), candidate);
  }

  void GatherPosition(const Node& node) {
    Tensor& out = Make(node, 1, Rows(node), config_.hidden_size);
    const int64_t last = std::min(history_[0], config_.num_position_buckets - 1);
    ForRows(out.rows, [&](int64_t begin, int64_t count) {
      for (int64_t row = begin; row < begin + count; ++row) {
        CopyRow(eager_.model_.position_table(), std::min(row, last), out.data + row * out.stride);
      }
    });
  }

  void LayerNorm(const Node& node) {
    const Tensor& in = In(node, 0);
    Tensor& out = MakeLike(node, in);
    const LayerWeights& weights = eager_.model_.layers()[node.layer];
    const bool first = node.weights[0].ends_with("input_norm.weight");
    const auto weight = first ? weights.input_norm_weight : weights.output_norm_weight;
    const auto bias = first ? weights.input_norm_bias : weights.output_norm_bias;
    ForRows(in.rows, [&](int64_t begin, int64_t count) {
      eager_.operators_.layer_norm({in.view().Rows(begin, count), weight.data(), bias.data(),
                                    config_.layernorm_epsilon, out.view().Rows(begin, count)});
    });
  }

  void L2Norm(const Node& node) {
    const Tensor& in = In(node, 0);
    Tensor& out = MakeLike(node, in);
    eager_.operators_.l2_norm({in.view(), out.view()});
  }

  // out [m, n] = in * weight^T + bias.
  void Multiply(const Matrix& in, PackedView weight, const float* bias, const Matrix& out) const {
    thread_local AlignedArray<float> scratch;
    thread_local int64_t scratch_floats = 0;
    if (scratch_floats < GemmScratch(weight.k)) {
      scratch_floats = GemmScratch(weight.k);
      scratch = AllocateAligned<float>(scratch_floats);
    }
    eager_.operators_.linear({in, weight, bias, false, out, scratch.get()});
  }

  void Linear(const Node& node) {
    const Tensor& in = In(node, 0);
    PackedView weight;
    std::vector<float> zeros;
    const float* bias = nullptr;
    if (node.layer >= 0) {
      const LayerWeights& weights = eager_.model_.layers()[node.layer];
      const bool first = node.weights[0].ends_with("uvqk.weight");
      weight = first ? weights.uvqk : weights.proj;
      if (first) bias = weights.uvqk_bias.data();
    } else {
      const HeadLayer& layer = eager_.model_.head()[head_layer_++];
      weight = layer.weight;
      bias = layer.bias.data();
    }
    if (bias == nullptr) {
      zeros.resize(static_cast<std::size_t>(weight.n), 0.0f);
      bias = zeros.data();
    }
    Tensor& out = Make(node, 1, in.rows, weight.n);
    ForRows(in.rows, [&](int64_t begin, int64_t count) {
      Multiply(in.view().Rows(begin, count), weight, bias, out.view().Rows(begin, count));
    });
  }

  void Split(const Node& node) {
    const Tensor& in = In(node, 0);
    const int64_t width = config_.attention_width();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Tensor& part = tensors_[node.outputs[i]];
      part.data = in.data + static_cast<int64_t>(i) * width;
      part.rows = in.rows;
      part.cols = width;
      part.stride = in.stride;
      part.source = node.inputs[0];
      ++readers_[part.source];
    }
  }

  // Of a head.
  Matrix Head(const Tensor& in, int64_t head) const {
    return in.view().Cols(head * config_.kv_channels, config_.kv_channels);
  }
  static Matrix Plane(const Tensor& in, int64_t plane) {
    return {in.data + plane * in.rows * in.cols, in.rows, in.cols, in.cols};
  }

  // out [heads, rows, n] = body's rows times a right side of [n, k] that `pack` packs for each
  // head.
  template <typename Pack, typename Left, typename Out>
  void MultiplyHeads(int64_t rows, int64_t n, int64_t k, const Pack& pack, const Left& left,
                     const Out& out) {
    const int64_t heads = config_.num_attention_heads;
    const int64_t size = RoundUp(n, kPanelWidth) * k;
    const auto packed = AllocateAligned<float>(heads * size);
    const std::vector<float> zeros(static_cast<std::size_t>(n), 0.0f);
    eager_.pool_.Run(heads, [&](int64_t head, int) { pack(head, packed.get() + head * size); });
    const int64_t blocks = CeilDiv(rows, kRows);
    eager_.pool_.Run(heads * blocks, [&](int64_t task, int) {
      const int64_t head = task / blocks;
      const int64_t begin = task % blocks * kRows;
      const int64_t count = std::min(kRows, rows - begin);
      const PackedView weight{reinterpret_cast<const std::byte*>(packed.get() + head * size),
                              DType::kF32, n, k};
      Multiply(left(head).Rows(begin, count), weight, zeros.data(), out(head).Rows(begin, count));
    });
  }

  void Scores(const Node& node) {
    const Tensor& q = In(node, 0);
    const Tensor& k = In(node, 1);
    Tensor& out = Make(node, config_.num_attention_heads, q.rows, q.rows);
    MultiplyHeads(
        q.rows, q.rows, config_.kv_channels,
        [&](int64_t head, float* packed) {
          const Matrix keys = Head(k, head);
          eager_operators_.pack_rows(keys.data, keys.rows, keys.cols, keys.stride, packed);
        },
        [&](int64_t head) { return Head(q, head); },
        [&](int64_t head) { return Plane(out, head); });
  }

  void Weigh(const Node& node) {
    const Tensor& scores = In(node, 0);
    const Tensor& v = In(node, 1);
    Tensor& out = Make(node, 1, v.rows, v.cols);
    MultiplyHeads(
        v.rows, config_.kv_channels, v.rows,
        [&](int64_t head, float* packed) {
          const Matrix values = Head(v, head);
          eager_operators_.pack_columns(values.data, values.rows, values.cols, values.stride,
                                        packed);
        },
        [&](int64_t head) { return Plane(scores, head); },
        [&](int64_t head) { return Head(out, head); });
  }

  AttentionMask MaskOf(const Node& node) const {
    AttentionMask mask;
    mask.history_end = history_[node.stage];
    mask.num_context = node.stage == 0 ? static_cast<int64_t>(tokens_.contextual.size()) : 0;
    mask.window = config_.max_attn_len;
    mask.group = config_.target_group_size;
    mask.contextual_mask = config_.contextual_mask;
    return mask;
  }

  void Mask(const Node& node) {
    const AttentionMask mask = MaskOf(node);
    const bool softmax = config_.attention == AttentionKind::kSoftmax;
    const float hidden = softmax ? -std::numeric_limits<float>::infinity() : 0.0f;
    const int64_t rows = In(node, 0).rows;
    Elementwise(node, [&](int64_t row, const float* in, int64_t size, float* out) {
      const int64_t position = row % rows;
      const KeyInterval seen = mask.History(position);
      std::fill(out, out + size, hidden);
      if (seen.begin < seen.end) std::copy(in + seen.begin, in + seen.end, out + seen.begin);
      const int64_t candidate = position - mask.history_end;
      if (candidate < 0) return;
      const int64_t group = mask.history_end + mask.GroupBegin(candidate);
      std::copy(in + group, in + position + 1, out + group);
    });
  }

  void PoolWindows(const Node& node) {
    const Tensor& in = In(node, 0);
    Tensor& out = Make(node, 1, history_[node.stage], in.cols);
    if (out.rows == 0) return;
    eager_.operators_.pool_windows({config_.stages[node.stage].aggregation,
                                    {nullptr, 0, in.cols, in.cols},
                                    in.view().Rows(0, history_[node.stage - 1]),
                                    0,
                                    out.view()});
  }

  // The pooled rows, then the candidates of the stage before.
  void Join(const Node& node) {
    const Tensor& pooled = In(node, 0);
    const Tensor& before = In(node, 1);
    Tensor& out = Make(node, 1, Rows(node), before.cols);
    std::copy_n(pooled.data, pooled.rows * pooled.cols, out.data);
    std::copy_n(before.data + (before.rows - candidates_) * before.cols, candidates_ * before.cols,
                out.data + pooled.rows * pooled.cols);
  }

  void Candidates(const Node& node) {
    const Tensor& in = In(node, 0);
    Tensor& out = tensors_[node.outputs[0]];
    out.data = in.data + (in.rows - candidates_) * in.stride;
    out.rows = candidates_;
    out.cols = in.cols;
    out.stride = in.stride;
    out.source = node.inputs[0];
    ++readers_[out.source];
  }

  Eager& eager_;
  const ModelConfig& config_;
  const EagerOperators eager_operators_;
  const UserTokens& tokens_;
  const int64_t candidates_;
  const StagePositions history_;  // tokens of each stage
  std::vector<Tensor> tensors_;   // by value of the graph
  std::vector<int64_t> readers_;  // left, by value; a view reads its source
  std::size_t head_layer_ = 0;
  int64_t live_bytes_ = 0;
};

Result<std::unique_ptr<Eager>> Eager::Load(const std::string& model, Isa isa, int threads,
                                           const std::string& operator_path) {
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, AllOperators(operator_path));
  HSTU_ASSIGN_OR_RETURN(const Operators operators, SelectOperators(registry, isa, "all"));
  HSTU_ASSIGN_OR_RETURN(Model loaded, Model::Load(model));
  HSTU_ASSIGN_OR_RETURN(const ModelOperators model_operators,
                        FindModelOperators(loaded.config(), registry));
  std::unique_ptr<Eager> eager(new Eager(std::move(loaded), operators, isa, threads));
  for (const auto* list : {&model_operators.embedding, &model_operators.head}) {
    for (const RowOperator& op : *list) eager->row_operators_[kLibraryOp + op.name] = op;
  }
  return eager;
}

Eager::Eager(Model model, const Operators& operators, Isa isa, int threads)
    : model_(std::move(model)),
      operators_(operators),
      isa_(isa),
      graph_(BuildGraph(model_.config())),
      pool_(threads) {}

Result<Answer> Eager::Rank(const Request& request) {
  HSTU_ASSIGN_OR_RETURN(const UserTokens tokens, ResolveTokens(model_.files(), request, false));
  if (tokens.context_error) return *tokens.context_error;
  HSTU_RETURN_IF_ERROR(CheckHistoryLength(model_.config(), tokens.history_tokens(), false, false));
  Answer answer;
  answer.num_tasks = model_.config().num_tasks();
  answer.history_items = static_cast<int64_t>(tokens.items.size());
  if (!tokens.candidates.empty()) answer.logits = Run(this, tokens).Logits();
  return answer;
}

}  // namespace hstu
