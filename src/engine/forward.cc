#include "engine/forward.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/reshape_and_cache.h"

namespace hstu {
namespace {

// Parts of the rows of uvqk.
constexpr int64_t kU = 0;
constexpr int64_t kV = 1;
constexpr int64_t kQ = 2;
constexpr int64_t kK = 3;

// Tasks that share columns, a thread: some more than threads, for balance.
constexpr int64_t kColumnTasksPerThread = 4;

// Rows a task so that tasks are as equal as blocks of at most kRowBlock allow.
int64_t BalancedBlock(int64_t rows, int64_t threads) {
  const int64_t rounds = std::max<int64_t>(1, CeilDiv(rows, kRowBlock * threads));
  return std::clamp<int64_t>(RoundUp(CeilDiv(rows, rounds * threads), 12), 12, kRowBlock);
}

double Bytes(const ConstMatrix& matrix) {
  return static_cast<double>(matrix.rows * matrix.cols) * sizeof(float);
}

// A multiplication by some panels of a packed weight.
void TraceGemm(const ConstMatrix& x, const PackedMatrix& weight, int64_t panels,
               TraceScope* scope) {
  if (!scope->enabled()) return;
  const double columns = static_cast<double>(panels * kPanelWidth);
  const double rows = static_cast<double>(x.rows);
  const double depth = static_cast<double>(weight.k());
  scope->Work(2.0 * rows * columns * depth,
              Bytes(x) + (columns * depth + rows * columns) * sizeof(float));
}

// Pairs of rows and keys that a block of one head computes.
double VisiblePairs(const AttentionBlock& block) {
  const AttentionMask& mask = block.piece->mask;
  double pairs = 0.0;
  for (int64_t i = 0; i < block.count; ++i) {
    const int64_t position = block.position + i;
    const KeyInterval seen = mask.History(position);
    pairs += static_cast<double>(seen.end - seen.begin);
    const int64_t candidate = position - mask.history_end;
    if (candidate >= 0) pairs += static_cast<double>(candidate - mask.GroupBegin(candidate) + 1);
  }
  return pairs;
}

}  // namespace

Forward::Forward(const Model& model, const Operators& operators, bool last_layer_all_rows,
                 ThreadPool* pool, Workspace* workspace, Trace* trace)
    : model_(model),
      config_(model.config()),
      operators_(operators),
      last_layer_all_rows_(last_layer_all_rows),
      pool_(*pool),
      workspace_(*workspace),
      trace_(trace) {}

void Forward::Run() {
  history_rows_ = 0;
  rows_ = 0;
  for (const Piece& piece : workspace_.pieces) {
    history_rows_ += piece.history_count;
    rows_ += piece.history_count + piece.candidate_count;
  }
  ListAttentionBlocks();
  Embed();
  RunLayers();
  Head();
}

Forward::Rows Forward::OutputRows(int64_t layer) const {
  if (OnlyKeysAndValues(layer)) return {history_rows_, rows_ - history_rows_};
  return {0, rows_};
}

// Of history in the last layer nothing else is asked for.
bool Forward::OnlyKeysAndValues(int64_t layer) const {
  return layer + 1 == config_.num_layers && !last_layer_all_rows_;
}

Matrix Forward::X(Rows rows) const {
  const int64_t width = config_.hidden_size;
  return {workspace_.x + rows.begin * width, rows.count, width, width};
}

Matrix Forward::Uvqk(Rows rows) const {
  const int64_t width = 4 * config_.attention_width();
  return {workspace_.uvqk + rows.begin * width, rows.count, width, width};
}

Matrix Forward::Part(int64_t part, Rows rows) const {
  return Uvqk(rows).Cols(part * config_.attention_width(), config_.attention_width());
}

float* Forward::Scratch(int thread) const {
  return workspace_.thread_scratch + thread * workspace_.thread_scratch_floats;
}

void Forward::ListAttentionBlocks() {
  workspace_.history_blocks.clear();
  workspace_.candidate_blocks.clear();
  const auto add = [](const Piece& piece, int64_t row, int64_t position, int64_t count,
                      std::vector<AttentionBlock>* blocks) {
    for (int64_t i = 0; i < count; i += kQueryBlock) {
      blocks->push_back({&piece, row + i, position + i, std::min(kQueryBlock, count - i)});
    }
  };
  for (const Piece& piece : workspace_.pieces) {
    add(piece, piece.history_row, piece.history_first, piece.history_count,
        &workspace_.history_blocks);
    add(piece, piece.candidate_row, piece.mask.history_end, piece.candidate_count,
        &workspace_.candidate_blocks);
  }
  // The longest first, so that threads end together.
  const auto longer = [](const AttentionBlock& a, const AttentionBlock& b) {
    return a.position > b.position;
  };
  std::sort(workspace_.history_blocks.begin(), workspace_.history_blocks.end(), longer);
  std::sort(workspace_.candidate_blocks.begin(), workspace_.candidate_blocks.end(), longer);
}

void Forward::Embed() {
  constexpr int64_t kEmbedRows = 64;
  const auto embed = [&](const Piece& piece, Rows rows, int64_t first_token) {
    EmbedTokensArgs args{};
    args.contextual_tables = model_.contextual_tables();
    args.contextual = piece.user->contextual.data();
    args.num_context = piece.num_context;
    args.item_table = model_.item_table();
    args.action_table = model_.action_table();
    args.history_tokens = piece.total_history;
    if (first_token < piece.total_history) {
      args.first_item = piece.first_item;
      args.items = piece.user->items;
      args.actions = piece.user->actions;
    } else {
      args.first_item = (piece.total_history - piece.num_context) / config_.tokens_per_item();
      args.candidates = piece.user->candidates;
    }
    args.position_table = model_.position_table();
    args.num_positions = config_.num_position_buckets;
    args.scale = std::sqrt(static_cast<float>(config_.hidden_size));
    args.first_token = first_token;
    args.out = X(rows);
    operators_.embed_tokens(args);
  };
  pool_.Run(static_cast<int64_t>(workspace_.pieces.size()), [&](int64_t task, int thread) {
    const Piece& piece = workspace_.pieces[task];
    TraceScope scope(trace_, thread, "embed_tokens");
    scope.Work(0.0, 3.0 * sizeof(float) * static_cast<double>(config_.hidden_size) *
                        static_cast<double>(piece.history_count + piece.candidate_count));
    for (int64_t i = 0; i < piece.history_count; i += kEmbedRows) {
      const int64_t count = std::min(kEmbedRows, piece.history_count - i);
      embed(piece, {piece.history_row + i, count}, piece.history_first + i);
    }
    embed(piece, {piece.candidate_row, piece.candidate_count},
          piece.total_history + piece.candidate_first);
  });
}

void Forward::RunLayers() {
  for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
    RunBetween(layer);
    Attend(layer);
  }
  RunBetween(config_.num_layers);
}

// The end of layer - 1 and the beginning of `layer`, where they exist: row by row, so without a
// barrier between.
void Forward::RunBetween(int64_t layer) {
  if (rows_ < kFewRows * pool_.threads()) {
    RunBetweenByColumns(layer);
  } else {
    RunBetweenByRows(layer);
  }
}

void Forward::RunBetweenByRows(int64_t layer) {
  const Rows out = layer > 0 ? OutputRows(layer - 1) : Rows{0, rows_};
  const int64_t first = layer < config_.num_layers ? 0 : out.begin;
  // History and candidates apart: the last layer computes different parts of them.
  const int64_t history = std::max<int64_t>(0, history_rows_ - first);
  const int64_t candidates = rows_ - first - history;
  const int64_t block = BalancedBlock(rows_ - first, pool_.threads());
  const int64_t history_tasks = CeilDiv(history, block);
  pool_.Run(history_tasks + CeilDiv(candidates, block), [&](int64_t task, int thread) {
    const bool is_history = task < history_tasks;
    const int64_t offset = (is_history ? task : task - history_tasks) * block;
    const Rows rows{first + (is_history ? 0 : history) + offset,
                    std::min(block, (is_history ? history : candidates) - offset)};
    if (layer > 0) {
      NormMulRows(layer - 1, rows, thread);
      ProjectOut(layer - 1, rows, {0, model_.layers()[layer - 1].proj.panels()}, thread);
    }
    if (layer == config_.num_layers) return;
    const int64_t width = config_.hidden_size;
    const Matrix normed{Scratch(thread), rows.count, width, width};
    NormRows(layer, rows, normed, thread);
    ProjectIn(layer, rows, normed, {0, model_.layers()[layer].uvqk.panels()},
              Scratch(thread) + kRowBlock * width, thread);
    if (is_history) CacheRows(layer, rows, thread);
  });
}

void Forward::RunBetweenByColumns(int64_t layer) {
  const int64_t tasks = kColumnTasksPerThread * pool_.threads();
  const auto by_panels = [&](int64_t panels, const auto& body) {
    const int64_t count = CeilDiv(panels, tasks);
    pool_.Run(CeilDiv(panels, count), [&](int64_t task, int thread) {
      body(Panels{task * count, std::min(panels, (task + 1) * count)}, thread);
    });
  };
  if (layer > 0) {
    const Rows out = OutputRows(layer - 1);
    NormMulRows(layer - 1, out, 0);
    by_panels(model_.layers()[layer - 1].proj.panels(),
              [&](Panels panels, int thread) { ProjectOut(layer - 1, out, panels, thread); });
  }
  if (layer == config_.num_layers) return;
  const int64_t width = config_.hidden_size;
  const Matrix normed{workspace_.normed, rows_, width, width};
  const Rows history{0, history_rows_};
  const Rows candidates{history_rows_, rows_ - history_rows_};
  NormRows(layer, {0, rows_}, normed, 0);
  by_panels(model_.layers()[layer].uvqk.panels(), [&](Panels panels, int thread) {
    ProjectIn(layer, history, normed.Rows(0, history.count), panels, Scratch(thread), thread);
    ProjectIn(layer, candidates, normed.Rows(history.count, candidates.count), panels,
              Scratch(thread), thread);
  });
  CacheRows(layer, history, 0);
}

// U = layer_norm(attention) * U; the attention stands in Q's place.
void Forward::NormMulRows(int64_t layer, Rows rows, int thread) const {
  TraceScope scope(trace_, thread, "norm_mul");
  scope.Work(0.0, 3.0 * Bytes(Part(kU, rows)));
  const LayerWeights& weights = model_.layers()[layer];
  operators_.norm_mul({Part(kQ, rows), Part(kU, rows), weights.output_norm_weight.data(),
                       weights.output_norm_bias.data(), config_.layernorm_epsilon, Part(kU, rows)});
}

void Forward::ProjectOut(int64_t layer, Rows rows, Panels panels, int thread) const {
  TraceScope scope(trace_, thread, "linear_residual");
  const PackedMatrix& weight = model_.layers()[layer].proj;
  TraceGemm(Part(kU, rows), weight, panels.end - panels.begin, &scope);
  const ConstMatrix residual = config_.residual ? ConstMatrix(X(rows)) : ConstMatrix{};
  operators_.linear_residual(
      {Part(kU, rows), &weight, residual, X(rows), panels.begin, panels.end, Scratch(thread)});
}

void Forward::NormRows(int64_t layer, Rows rows, Matrix out, int thread) const {
  TraceScope scope(trace_, thread, "layer_norm");
  scope.Work(0.0, 2.0 * Bytes(out));
  const LayerWeights& weights = model_.layers()[layer];
  operators_.layer_norm({X(rows), weights.input_norm_weight.data(), weights.input_norm_bias.data(),
                         config_.layernorm_epsilon, out});
}

// Of history rows in the last layer only V and K, in the panels that hold them.
void Forward::ProjectIn(int64_t layer, Rows rows, ConstMatrix normed, Panels panels, float* scratch,
                        int thread) const {
  if (rows.count == 0) return;
  const LayerWeights& weights = model_.layers()[layer];
  TraceScope scope(trace_, thread, "in_linear_silu");
  const auto project = [&](int64_t begin, int64_t end) {
    begin = std::max(begin, panels.begin);
    end = std::min(end, panels.end);
    if (begin >= end) return;
    TraceGemm(normed, weights.uvqk, end - begin, &scope);
    operators_.in_linear_silu(
        {normed, &weights.uvqk, weights.uvqk_bias.data(), Uvqk(rows), begin, end, scratch});
  };
  if (rows.begin >= history_rows_ || !OnlyKeysAndValues(layer)) {
    project(panels.begin, panels.end);
    return;
  }
  const int64_t width = config_.attention_width();
  const int64_t v_end = CeilDiv((kV + 1) * width, kPanelWidth);
  project(kV * width / kPanelWidth, v_end);
  project(std::max(v_end, kK * width / kPanelWidth), weights.uvqk.panels());
}

// K and V of history rows go to their pages.
void Forward::CacheRows(int64_t layer, Rows rows, int thread) const {
  TraceScope scope(trace_, thread, "reshape_and_cache");
  scope.Work(0.0, 4.0 * Bytes(Part(kK, rows)));
  const auto& pieces = workspace_.pieces;
  auto piece = std::upper_bound(
      pieces.begin(), pieces.end(), rows.begin,
      [](int64_t row, const Piece& p) { return row < p.history_row + p.history_count; });
  const int64_t end = rows.begin + rows.count;
  for (; piece != pieces.end() && piece->history_row < end; ++piece) {
    const int64_t begin = std::max(rows.begin, piece->history_row);
    const Rows own{begin, std::min(end, piece->history_row + piece->history_count) - begin};
    ReshapeAndCache({Part(kK, own), Part(kV, own),
                     piece->history_first + begin - piece->history_row, workspace_.layout(),
                     piece->kv.Layer(layer)});
  }
}

void Forward::Attend(int64_t layer) {
  const auto& candidates = workspace_.candidate_blocks;
  const auto& history = workspace_.history_blocks;
  const auto candidate_blocks = static_cast<int64_t>(candidates.size());
  const int64_t blocks =
      candidate_blocks + (OnlyKeysAndValues(layer) ? 0 : static_cast<int64_t>(history.size()));
  const int64_t heads = config_.num_attention_heads;
  pool_.Run(blocks * heads, [&](int64_t task, int thread) {
    const int64_t index = task / heads;
    const AttentionBlock& block =
        index < candidate_blocks ? candidates[index] : history[index - candidate_blocks];
    AttendBlock(layer, block, task % heads, thread);
  });
}

// The result takes Q's place, which nobody else reads.
void Forward::AttendBlock(int64_t layer, const AttentionBlock& block, int64_t head,
                          int thread) const {
  TraceScope scope(trace_, thread, "hstu_attention");
  const Piece& piece = *block.piece;
  const int64_t dim = config_.kv_channels;
  if (scope.enabled()) {
    const auto rows = static_cast<double>(block.count);
    const auto keys = static_cast<double>(piece.mask.History(block.position + block.count - 1).end);
    scope.Work(4.0 * static_cast<double>(dim) * VisiblePairs(block),
               sizeof(float) * 2.0 * static_cast<double>(dim) * (rows + keys));
  }
  const Matrix q = Part(kQ, {block.row, block.count}).Cols(head * dim, dim);
  const Rows group{piece.candidate_row, piece.candidate_count};
  operators_.hstu_attention({config_.attention, static_cast<float>(config_.scaling_seqlen),
                             workspace_.layout(), piece.kv.Layer(layer), piece.mask, head,
                             block.position, q, q, Part(kK, group).Cols(head * dim, dim),
                             Part(kV, group).Cols(head * dim, dim), Scratch(thread)});
}

void Forward::Head() {
  const int64_t candidates = rows_ - history_rows_;
  const int64_t tasks = CeilDiv(candidates, kRowBlock);
  int64_t widest = config_.hidden_size;
  for (const int64_t size : config_.prediction_head_arch) widest = std::max(widest, size);
  pool_.Run(tasks, [&](int64_t task, int thread) {
    const int64_t begin = task * kRowBlock;
    const Rows rows{history_rows_ + begin, std::min(kRowBlock, candidates - begin)};
    TraceScope scope(trace_, thread, "head");
    float* scratch = Scratch(thread);
    float* buffers[] = {scratch, scratch + kRowBlock * widest};
    Matrix x{buffers[0], rows.count, config_.hidden_size, config_.hidden_size};
    operators_.l2_norm({X(rows), x});
    const auto& head = model_.head();
    for (size_t i = 0; i < head.size(); ++i) {
      const bool last = i + 1 == head.size();
      const int64_t width = head[i].weight.n();
      float* to = last ? workspace_.logits + begin * width : buffers[(i + 1) % 2];
      const Matrix out{to, rows.count, width, width};
      TraceGemm(x, head[i].weight, head[i].weight.panels(), &scope);
      operators_.linear(
          {x, &head[i].weight, head[i].bias.data(), !last, out, scratch + 2 * kRowBlock * widest});
      x = out;
    }
  });
}

}  // namespace hstu
