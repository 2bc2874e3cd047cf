#include "accept/reference_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "accept/double_rows.h"
#include "base/aligned.h"
#include "base/error.h"
#include "kernels/attention_mask.h"
#include "model/model.h"
#include "model/model_operators.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

// The columns of uvqk: U, V, Q, K.
enum Part { kU, kV, kQ, kK };

DoubleRows Columns(const DoubleRows& x, int64_t begin, int64_t count) {
  DoubleRows columns(count, x.rows());
  for (int64_t row = 0; row < x.rows(); ++row) {
    std::copy_n(x.row(row) + begin, count, columns.row(row));
  }
  return columns;
}

// A layer's weights, and the K and V that it keeps.
struct Layer {
  DoubleRows uvqk;
  DoubleRows proj;
  DoubleRows keys;
  DoubleRows values;
};

struct KeptStage {
  int64_t first = 0;  // the oldest token kept
  int64_t count = 0;  // one past the newest
  std::vector<Layer> layers;
  DoubleRows pending;  // outputs of the stage before that wait for their window

  int64_t kept() const { return count - first; }
};

}  // namespace

class ReferenceSession::Stream {
 public:
  Stream(const Model& model, const ModelOperators& operators, int64_t page_tokens, ThreadPool* pool)
      : model_(model),
        operators_(operators),
        config_(model.config()),
        unit_(EvictionUnit(config_.stages, page_tokens)),
        pool_(*pool) {
    size_t index = 0;
    for (const Stage& stage : config_.stages) {
      KeptStage kept{0, 0, {}, DoubleRows(config_.hidden_size)};
      for (int64_t i = 0; i < stage.num_layers; ++i, ++index) {
        const LayerWeights& weights = model.layers()[index];
        kept.layers.push_back({Transposed(weights.uvqk), Transposed(weights.proj),
                               DoubleRows(config_.attention_width()),
                               DoubleRows(config_.attention_width())});
      }
      stages_.push_back(std::move(kept));
    }
  }

  Result<std::vector<double>> Rank(const Request& request) {
    HSTU_ASSIGN_OR_RETURN(UserTokens tokens, ResolveTokens(model_.files(), request, false));
    if (stages_[0].count > 0) {
      tokens.contextual.clear();
    } else {
      if (tokens.context_error) return *tokens.context_error;
      num_context_ = static_cast<int64_t>(tokens.contextual.size());
    }
    const int64_t added = tokens.history_tokens();
    HSTU_RETURN_IF_ERROR(CheckHistoryLength(config_, added, false, false));
    MakeRoom(added);
    const int64_t total = stages_[0].count + added;
    DoubleRows history = Embed(tokens, total);
    DoubleRows candidates = EmbedCandidates(tokens, total);
    RunOperators(operators_.embedding, &history);
    RunOperators(operators_.embedding, &candidates);
    size_t layer = 0;
    for (size_t i = 0; i < stages_.size(); ++i) {
      Extend(i, layer, &history, &candidates);
      layer += stages_[i].layers.size();
      if (i + 1 < stages_.size()) history = Pool(i + 1, history);
    }
    RunOperators(operators_.head, &candidates);
    return Head(candidates);
  }

  int64_t evicted_tokens() const { return stages_[0].first; }

 private:
  // Evicts the fewest whole units that let `added` more tokens fit; all where that is less.
  void MakeRoom(int64_t added) {
    const int64_t over = stages_[0].kept() + added - config_.max_history_tokens;
    if (over <= 0) return;
    int64_t position = stages_[0].first + std::min(CeilDiv(over, unit_) * unit_, stages_[0].kept());
    for (size_t i = 0; i < stages_.size(); ++i) {
      KeptStage& stage = stages_[i];
      if (i > 0) position = CeilDiv(position, config_.stages[i].aggregation.stride);
      const int64_t gone = std::max<int64_t>(0, std::min(position, stage.count) - stage.first);
      stage.first += gone;
      for (Layer& layer : stage.layers) {
        layer.keys.EraseFront(gone);
        layer.values.EraseFront(gone);
      }
    }
  }

  // Appends table row * sqrt(C) + the row of `position`.
  void AddRow(const RowTable& table, int64_t id, int64_t position, DoubleRows* rows) const {
    const auto width = static_cast<size_t>(config_.hidden_size);
    const int64_t at = std::min(position, config_.num_position_buckets - 1);
    const double scale = std::sqrt(static_cast<double>(config_.hidden_size));
    const auto load = [&](const RowTable& from, int64_t row, float* to) {
      const int64_t bytes = config_.hidden_size * static_cast<int64_t>(SizeOf(from.dtype));
      LoadFloats(from.dtype, from.data + row * bytes, width, to);
    };
    std::vector<float> row(width);
    std::vector<float> of_position(width);
    load(table, id, row.data());
    load(model_.position_table(), at, of_position.data());
    for (size_t i = 0; i < width; ++i) rows->values.push_back(row[i] * scale + of_position[i]);
  }

  DoubleRows Embed(const UserTokens& tokens, int64_t total) const {
    DoubleRows rows(config_.hidden_size);
    int64_t position = stages_[0].count;
    const auto add = [&](const RowTable& table, int64_t id) {
      AddRow(table, id, std::min(position++, total), &rows);
    };
    for (size_t i = 0; i < tokens.contextual.size(); ++i) {
      add(model_.contextual_tables()[i], tokens.contextual[i]);
    }
    for (size_t i = 0; i < tokens.items.size(); ++i) {
      add(model_.item_table(), tokens.items[i]);
      if (!tokens.actions.empty()) add(model_.action_table(), tokens.actions[i]);
    }
    return rows;
  }

  DoubleRows EmbedCandidates(const UserTokens& tokens, int64_t total) const {
    DoubleRows rows(config_.hidden_size);
    for (const int64_t id : tokens.candidates) AddRow(model_.item_table(), id, total, &rows);
    return rows;
  }

  // Operators from libraries compute in f32.
  static void RunOperators(const std::vector<RowOperator>& operators, DoubleRows* x) {
    if (operators.empty()) return;
    std::vector<float> values(x->values.begin(), x->values.end());
    const Matrix rows{values.data(), x->rows(), x->cols, x->cols};
    for (const RowOperator& op : operators) RunRowOperator(op, rows, nullptr);
    x->values.assign(values.begin(), values.end());
  }

  // Appends to a stage and scores candidates against all that is kept; both become its output.
  void Extend(size_t index, size_t first_layer, DoubleRows* history, DoubleRows* candidates) {
    KeptStage& stage = stages_[index];
    const int64_t added = history->rows();
    AttentionMask mask;
    mask.history_begin = stage.first;
    mask.history_end = stage.count + added;
    mask.num_context = index == 0 ? num_context_ : 0;
    mask.window = config_.max_attn_len;
    mask.group = config_.target_group_size;
    mask.contextual_mask = config_.contextual_mask;
    DoubleRows x = *history;
    x.Append(*candidates);
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      x = RunLayer(model_.layers()[first_layer + i], x, added, mask, &stage.layers[i]);
    }
    stage.count += added;
    *history = x.Slice(0, added);
    *candidates = x.Slice(added, x.rows() - added);
  }

  // x: `added` rows of history, then candidates.
  DoubleRows RunLayer(const LayerWeights& weights, const DoubleRows& x, int64_t added,
                      const AttentionMask& mask, Layer* layer) {
    DoubleRows normed = x;
    LayerNorm(weights.input_norm_weight, weights.input_norm_bias, config_.layernorm_epsilon,
              &normed);
    DoubleRows uvqk = Linear(normed, layer->uvqk, weights.uvqk_bias, &pool_);
    for (double& value : uvqk.values) value = Silu(value);
    const int64_t width = config_.attention_width();
    const DoubleRows keys = Columns(uvqk, kK * width, width);
    const DoubleRows values = Columns(uvqk, kV * width, width);
    layer->keys.Append(keys.Slice(0, added));
    layer->values.Append(values.Slice(0, added));
    DoubleRows out(width, x.rows());
    pool_.Run(x.rows() * config_.num_attention_heads, [&](int64_t task, int) {
      const int64_t row = task / config_.num_attention_heads;
      Attend(uvqk.row(row) + kQ * width, mask.history_end - added + row, mask, *layer,
             {&keys, &values, added}, task % config_.num_attention_heads, out.row(row));
    });
    LayerNorm(weights.output_norm_weight, weights.output_norm_bias, config_.layernorm_epsilon,
              &out);
    for (int64_t row = 0; row < out.rows(); ++row) {
      for (int64_t i = 0; i < width; ++i) out.row(row)[i] *= uvqk.row(row)[kU * width + i];
    }
    DoubleRows result = Linear(out, layer->proj, {}, &pool_);
    if (config_.residual) {
      for (size_t i = 0; i < result.values.size(); ++i) result.values[i] += x.values[i];
    }
    return result;
  }

  // K and V of a step's rows, the candidates from `first` on.
  struct StepRows {
    const DoubleRows* keys;
    const DoubleRows* values;
    int64_t first;
  };

  // One head of the row at `position`.
  void Attend(const double* q, int64_t position, const AttentionMask& mask, const Layer& layer,
              const StepRows& step, int64_t head, double* out) const {
    const int64_t begin = head * config_.kv_channels;
    std::vector<const double*> keys;
    std::vector<const double*> values;
    const KeyInterval seen = mask.History(position);
    for (int64_t j = seen.begin; j < seen.end; ++j) {
      keys.push_back(layer.keys.row(j - mask.history_begin) + begin);
      values.push_back(layer.values.row(j - mask.history_begin) + begin);
    }
    const int64_t candidate = position - mask.history_end;
    for (int64_t j = candidate < 0 ? 0 : mask.GroupBegin(candidate); j <= candidate; ++j) {
      keys.push_back(step.keys->row(step.first + j) + begin);
      values.push_back(step.values->row(step.first + j) + begin);
    }
    const std::vector<double> weights = Weights(q + begin, keys);
    for (size_t j = 0; j < values.size(); ++j) {
      for (int64_t i = 0; i < config_.kv_channels; ++i) {
        out[begin + i] += weights[j] * values[j][i];
      }
    }
  }

  std::vector<double> Weights(const double* q, const std::vector<const double*>& keys) const {
    const auto dim = static_cast<double>(config_.kv_channels);
    std::vector<double> weights;
    weights.reserve(keys.size());
    for (const double* key : keys) {
      double score = 0.0;
      for (int64_t i = 0; i < config_.kv_channels; ++i) score += q[i] * key[i];
      weights.push_back(score / std::sqrt(dim));
    }
    if (config_.attention == AttentionKind::kSilu) {
      const auto scale = static_cast<double>(config_.scaling_seqlen);
      for (double& weight : weights) weight = Silu(weight) / scale;
      return weights;
    }
    const double top = *std::max_element(weights.begin(), weights.end());
    double total = 0.0;
    for (double& weight : weights) total += weight = std::exp(weight - top);
    for (double& weight : weights) weight /= total;
    return weights;
  }

  // A stage's output -> the new tokens of the next.
  DoubleRows Pool(size_t index, const DoubleRows& outputs) {
    const Aggregation& aggregation = config_.stages[index].aggregation;
    DoubleRows& pending = stages_[index].pending;
    pending.Append(outputs);
    DoubleRows pooled(config_.hidden_size);
    while (pending.rows() >= aggregation.window) {
      for (int64_t i = 0; i < config_.hidden_size; ++i) {
        double sum = 0.0;
        for (int64_t row = 0; row < aggregation.window; ++row) sum += pending.row(row)[i];
        pooled.values.push_back(sum / static_cast<double>(aggregation.window));
      }
      pending.EraseFront(aggregation.stride);
    }
    return pooled;
  }

  std::vector<double> Head(DoubleRows x) {
    for (int64_t row = 0; row < x.rows(); ++row) {
      const std::span values(x.row(row), static_cast<size_t>(x.cols));
      double squares = 0.0;
      for (const double value : values) squares += value * value;
      for (double& value : values) value /= std::max(std::sqrt(squares), 1e-6);
    }
    for (size_t i = 0; i < model_.head().size(); ++i) {
      const HeadLayer& layer = model_.head()[i];
      x = Linear(x, Transposed(layer.weight), layer.bias, &pool_);
      if (i + 1 == model_.head().size()) break;
      for (double& value : x.values) value = std::max(value, 0.0);
    }
    return x.values;
  }

  const Model& model_;
  const ModelOperators& operators_;
  const ModelConfig& config_;
  const int64_t unit_;
  ThreadPool& pool_;
  int64_t num_context_ = 0;
  std::vector<KeptStage> stages_;
};

ReferenceSession::ReferenceSession(const Model& model, const ModelOperators& operators,
                                   int64_t page_tokens, ThreadPool* pool)
    : stream_(std::make_unique<Stream>(model, operators, page_tokens, pool)) {}
ReferenceSession::~ReferenceSession() = default;

Result<std::vector<double>> ReferenceSession::Rank(const Request& request) {
  return stream_->Rank(request);
}

int64_t ReferenceSession::evicted_tokens() const { return stream_->evicted_tokens(); }

}  // namespace hstu
