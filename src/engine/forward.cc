#include "engine/forward.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/reshape_and_cache.h"

namespace hstu {
namespace {

// Tasks that share columns, a thread: some more than threads, for balance.
constexpr int64_t kColumnTasksPerThread = 4;

// Rows a task so that tasks are as equal as blocks of at most kRowBlock allow, in whole tiles.
int64_t BalancedBlock(int64_t rows, int64_t threads, Products products) {
  const int64_t tile = products == Products::kBF16Tiles ? 2 * kPanelWidth : kFewestGemmRows;
  const int64_t rounds = std::max<int64_t>(1, CeilDiv(rows, kRowBlock * threads));
  return std::clamp<int64_t>(RoundUp(CeilDiv(rows, rounds * threads), tile), tile, kRowBlock);
}

double Bytes(const ConstActivations& matrix) {
  return static_cast<double>(matrix.rows * matrix.cols * matrix.element_bytes());
}

// A multiplication by some panels of a packed weight.
void TraceGemm(const ConstActivations& x, PackedView weight, int64_t panels, TraceScope* scope) {
  if (!scope->enabled()) return;
  const double columns = static_cast<double>(panels * kPanelWidth);
  const double rows = static_cast<double>(x.rows);
  const double depth = static_cast<double>(weight.k);
  scope->Work(2.0 * rows * columns * depth,
              Bytes(x) + (columns * depth + rows * columns) * sizeof(float));
}

// Pairs of rows and keys that a block of one head computes.
double VisiblePairs(const AttentionBlock& block) {
  const AttentionMask& mask = block.stage->mask;
  double pairs = 0.0;
  for (int64_t i = 0; i < block.rows(); ++i) {
    const int64_t position = block.position + i;
    const KeyInterval seen = mask.History(position);
    pairs += static_cast<double>(seen.end - seen.begin);
    const int64_t candidate = position - mask.history_end;
    if (candidate >= 0) pairs += static_cast<double>(candidate - mask.GroupBegin(candidate) + 1);
  }
  return pairs;
}

}  // namespace

Forward::Forward(const Model& model, const ModelOperators& model_operators,
                 bool last_layer_all_rows, ThreadPool* pool, Workspace* workspace, Trace* trace,
                 ForwardRanks* ranks)
    : model_(model),
      config_(model.config()),
      model_operators_(model_operators),
      last_layer_all_rows_(last_layer_all_rows),
      pool_(*pool),
      workspace_(*workspace),
      trace_(trace),
      ranks_(ranks),
      dtype_(workspace->limits().dtype),
      int8_(workspace->limits().kv_dtype == KvDType::kInt8) {}

void Forward::Run(const Operators& operators, LayerObserver* observer) {
  operators_ = &operators;
  observer_ = observer;
  x_ = workspace_.X(0);
  candidate_rows_ = 0;
  for (const Piece& piece : workspace_.pieces) candidate_rows_ += piece.candidate_count;
  first_layer_ = 0;
  for (size_t stage = 0; stage < config_.stages.size(); ++stage) {
    BeginStage(stage);
    if (stage == 0) {
      Embed();
      RunRowOperators(model_operators_.embedding, {0, rows_});
    } else {
      EnterStage();
    }
    RunStage();
    first_layer_ += config_.stages[stage].num_layers;
  }
  RunRowOperators(model_operators_.head, {0, candidate_rows_});
  Head();
}

void Forward::BeginStage(size_t stage) {
  stage_ = stage;
  rows_ = candidate_rows_;
  for (const Piece& piece : workspace_.pieces) rows_ += piece.stages[stage].history_count;
  ListAttentionBlocks();
  if (int8_) BeginOwnPages();
}

Forward::Rows Forward::OutputRows(int64_t layer) const {
  return {0, OnlyKeysAndValues(layer) ? candidate_rows_ : rows_};
}

// Of history in the last layer nothing else is asked for.
bool Forward::OnlyKeysAndValues(int64_t layer) const {
  return layer + 1 == config_.num_layers && !last_layer_all_rows_;
}

Activations Forward::X(Rows rows) const {
  const int64_t width = config_.hidden_size;
  return Activations(x_, 0, width, width, dtype_).Rows(rows.begin, rows.count);
}

Activations Forward::Uvqk(Rows rows) const {
  const int64_t width = 4 * config_.attention_width();
  return Activations(workspace_.Uvqk(stage_), 0, width, width, dtype_).Rows(rows.begin, rows.count);
}

Activations Forward::Part(int64_t part, Rows rows) const {
  return Uvqk(rows).Cols(part * config_.attention_width(), config_.attention_width());
}

float* Forward::Scratch(int thread) const {
  return workspace_.thread_scratch + thread * workspace_.thread_scratch_floats;
}

void Forward::ListAttentionBlocks() {
  std::vector<AttentionBlock>& all = workspace_.blocks;
  std::vector<AttentionBlock>& candidates = workspace_.candidate_blocks;
  all.clear();
  candidates.clear();
  const auto add = [this](const Piece& piece, int64_t row, int64_t position, int64_t count,
                          std::vector<AttentionBlock>* blocks) {
    for (int64_t i = 0; i < count;) {
      const int64_t rows = std::min(count - i, RowsTogether(piece, position + i));
      blocks->push_back({&piece, &piece.stages[stage_], row + i, position + i, rows});
      i += rows;
    }
  };
  for (const Piece& piece : workspace_.pieces) {
    const PieceStage& stage = piece.stages[stage_];
    add(piece, piece.candidate_row, stage.mask.history_end, piece.candidate_count, &candidates);
    add(piece, stage.history_row, stage.history_first, stage.history_count, &all);
    if (ReadsKeysTogether(piece)) {
      all.back().candidates = piece.candidate_count;
    } else {
      add(piece, piece.candidate_row, stage.mask.history_end, piece.candidate_count, &all);
    }
  }
  // The longest first, so that threads end together.
  const auto longer = [](const AttentionBlock& a, const AttentionBlock& b) {
    return a.position > b.position;
  };
  std::sort(all.begin(), all.end(), longer);
  std::sort(candidates.begin(), candidates.end(), longer);
}

// Whether few rows of history and all candidates, which follow upon them, are one block: else each
// would read the history's keys by itself.
bool Forward::ReadsKeysTogether(const Piece& piece) const {
  const PieceStage& stage = piece.stages[stage_];
  return !int8_ && stage.history_count > 0 && piece.candidate_count > 0 &&
         stage.history_count + piece.candidate_count <= kFewQueries &&
         stage.history_first + stage.history_count == stage.mask.history_end;
}

// Rows from `position` on that one call of attention may compute: of int8 pages, one page's.
int64_t Forward::RowsTogether(const Piece& piece, int64_t position) const {
  const int64_t most = QueryBlockRows(workspace_.layout().dtype);
  if (!int8_ || position >= piece.stages[stage_].mask.history_end) return most;
  const int64_t page = workspace_.layout().page_tokens;
  return std::min(most, (position / page + 1) * page - position);
}

void Forward::BeginOwnPages() {
  const int64_t page = workspace_.layout().page_tokens;
  workspace_.full_pages.clear();
  for (const Piece& piece : workspace_.pieces) {
    const PieceStage& stage = piece.stages[stage_];
    if (stage.history_count == 0) continue;
    workspace_.own_pages.Begin(stage, config_.stages[stage_].num_layers);
    for (int64_t at = stage.history_first / page * page; at + page <= stage.mask.history_end;
         at += page) {
      workspace_.full_pages.push_back({&stage, at});
    }
  }
}

void Forward::Embed() {
  constexpr int64_t kEmbedRows = 64;
  GatheredRows* gathered = ranks_ == nullptr ? nullptr : ranks_->rows.get();
  if (gathered != nullptr) gathered->Gather(workspace_.pieces);
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
    if (gathered != nullptr) gathered->Replace(&piece - workspace_.pieces.data(), &args);
    operators_->embed_tokens(args);
  };
  pool_.Run(static_cast<int64_t>(workspace_.pieces.size()), [&](int64_t task, int thread) {
    const Piece& piece = workspace_.pieces[task];
    const PieceStage& stage = piece.stages[0];
    TraceScope scope(trace_, thread, "embed_tokens");
    scope.Work(0.0, 3.0 * sizeof(float) * static_cast<double>(config_.hidden_size) *
                        static_cast<double>(stage.history_count + piece.candidate_count));
    for (int64_t i = 0; i < stage.history_count; i += kEmbedRows) {
      const int64_t count = std::min(kEmbedRows, stage.history_count - i);
      embed(piece, {stage.history_row + i, count}, stage.history_first + i);
    }
    embed(piece, {piece.candidate_row, piece.candidate_count},
          piece.total_history + piece.candidate_first);
  });
}

void Forward::RunRowOperators(const std::vector<RowOperator>& operators, Rows rows) const {
  for (const RowOperator& op : operators) {
    pool_.Run(CeilDiv(rows.count, kRowBlock), [&](int64_t task, int thread) {
      TraceScope scope(trace_, thread, op.name.c_str());
      const int64_t begin = rows.begin + task * kRowBlock;
      const int64_t count = std::min(kRowBlock, rows.begin + rows.count - begin);
      RunRowOperator(op, X({begin, count}), Scratch(thread));
    });
  }
}

void Forward::RunStage() {
  const int64_t end = first_layer_ + config_.stages[stage_].num_layers;
  observer_->BeginLayer(first_layer_);
  RunBetween({kNoLayer, first_layer_});
  for (int64_t layer = first_layer_; layer < end; ++layer) {
    observer_->BeginAttention(layer);
    if (int8_) CloseOwnPages(layer);
    Attend(layer);
    if (int8_) KeepOwnPages(layer);
    observer_->EndLayer(layer);
    if (layer + 1 < end) observer_->BeginLayer(layer + 1);
    RunBetween({layer, layer + 1 < end ? layer + 1 : kNoLayer});
  }
}

// body(piece, its rows among these history rows of the stage).
template <typename Body>
void Forward::ForEachPiece(Rows rows, const Body& body) const {
  const auto& pieces = workspace_.pieces;
  auto piece = std::upper_bound(
      pieces.begin(), pieces.end(), rows.begin, [this](int64_t row, const Piece& p) {
        return row < p.stages[stage_].history_row + p.stages[stage_].history_count;
      });
  const int64_t end = rows.begin + rows.count;
  for (; piece != pieces.end() && piece->stages[stage_].history_row < end; ++piece) {
    const PieceStage& stage = piece->stages[stage_];
    const int64_t begin = std::max(rows.begin, stage.history_row);
    body(*piece, Rows{begin, std::min(end, stage.history_row + stage.history_count) - begin});
  }
}

// The rows of the stage before become this one's, in the other buffer: candidates as they are, and
// means over windows of history.
void Forward::EnterStage() {
  constexpr int64_t kRows = 32;  // a task
  const int64_t row_bytes = config_.hidden_size * static_cast<int64_t>(SizeOf(dtype_));
  pool_.Run(CeilDiv(rows_, kRows), [&](int64_t task, int thread) {
    const int64_t begin = task * kRows;
    const int64_t end = std::min(begin + kRows, rows_);
    const int64_t history = std::clamp(candidate_rows_, begin, end);
    std::copy(x_ + begin * row_bytes, x_ + history * row_bytes,
              workspace_.X(stage_) + begin * row_bytes);
    if (history < end) PoolWindows({history, end - history}, thread);
  });
  for (const Piece& piece : workspace_.pieces) KeepWaiting(piece);
  x_ = workspace_.X(stage_);
}

void Forward::PoolWindows(Rows rows, int thread) const {
  TraceScope scope(trace_, thread, "pool_windows");
  const Aggregation& aggregation = config_.stages[stage_].aggregation;
  const int64_t width = config_.hidden_size;
  const double inputs = static_cast<double>(rows.count * width * aggregation.window);
  scope.Work(inputs, sizeof(float) * inputs);
  ForEachPiece(rows, [&](const Piece& piece, Rows own) {
    const PoolInputs from = InputsOf(piece);
    const int64_t window = own.begin - piece.stages[stage_].history_row;
    const Activations out =
        Activations(workspace_.X(stage_), 0, width, width, dtype_).Rows(own.begin, own.count);
    operators_->pool_windows(
        {aggregation, from.waiting, from.x, from.first + window * aggregation.stride, out});
  });
}

Forward::PoolInputs Forward::InputsOf(const Piece& piece) const {
  const PieceStage& from = piece.stages[stage_ - 1];
  const PieceStage& to = piece.stages[stage_];
  const int64_t first = to.history_first * config_.stages[stage_].aggregation.stride;
  const int64_t width = config_.hidden_size;
  const int64_t waiting = std::max<int64_t>(0, from.history_first - first);
  return {{to.memory.waiting, waiting, width, width},
          X({from.history_row, from.history_count}),
          std::max<int64_t>(0, first - from.history_first)};
}

// Outputs whose window a later step completes move to the front of those that wait.
void Forward::KeepWaiting(const Piece& piece) const {
  const PieceStage& to = piece.stages[stage_];
  if (to.memory.waiting == nullptr || piece.stages[stage_ - 1].history_count == 0) return;
  const PoolInputs from = InputsOf(piece);
  const int64_t end = from.waiting.rows + from.x.rows;
  int64_t input = from.first + to.history_count * config_.stages[stage_].aggregation.stride;
  for (float* out = to.memory.waiting; input < end; ++input, out += config_.hidden_size) {
    if (input >= from.waiting.rows) {
      CopyAsFloats(from.x, input - from.waiting.rows, out);
    } else if (from.waiting.Row(input) != out) {
      std::copy_n(from.waiting.Row(input), config_.hidden_size, out);
    }
  }
}

// The end of a layer and the beginning of the next: row by row, so without a barrier between.
void Forward::RunBetween(Boundary boundary) {
  if (ranks_ != nullptr && ranks_->heads != nullptr && boundary.finish != kNoLayer) {
    RunBetweenOverHeads(boundary);
  } else if (rows_ < kFewRows * pool_.threads()) {
    RunBetweenByColumns(boundary);
  } else {
    RunBetweenByRows(boundary);
  }
}

void Forward::RunBetweenByRows(Boundary boundary) {
  const int64_t finish = boundary.finish;
  const int64_t begin = boundary.begin;
  // History and candidates apart: the last layer computes different parts of them.
  const int64_t total = begin == kNoLayer ? OutputRows(finish).count : rows_;
  const int64_t history = total - candidate_rows_;
  const int64_t block = BalancedBlock(total, pool_.threads(), model_.products());
  const int64_t history_tasks = CeilDiv(history, block);
  pool_.Run(history_tasks + CeilDiv(candidate_rows_, block), [&](int64_t task, int thread) {
    const bool is_history = task < history_tasks;
    const int64_t offset = (is_history ? task : task - history_tasks) * block;
    const Rows rows{(is_history ? candidate_rows_ : 0) + offset,
                    std::min(block, (is_history ? history : candidate_rows_) - offset)};
    if (finish != kNoLayer) {
      NormMulRows(finish, rows, thread);
      ProjectOut(finish, rows, {0, model_.layers()[finish].proj.panels()}, thread);
    }
    if (begin != kNoLayer) BeginRows(begin, rows, thread);
  });
}

// Rows of history, or of candidates, from a layer's beginning to its attention.
void Forward::BeginRows(int64_t layer, Rows rows, int thread) const {
  const int64_t width = config_.hidden_size;
  const Matrix normed{Scratch(thread), rows.count, width, width};
  NormRows(layer, rows, normed, thread);
  ProjectIn(layer, rows, normed, {0, model_.layers()[layer].uvqk.panels()},
            Scratch(thread) + kRowBlock * width, thread);
  if (rows.begin >= candidate_rows_) CacheRows(layer, rows, thread);
}

void Forward::RunBetweenByColumns(Boundary boundary) {
  const auto [finish, begin] = boundary;
  const int64_t tasks = kColumnTasksPerThread * pool_.threads();
  const auto by_panels = [&](int64_t panels, const auto& body) {
    const int64_t count = CeilDiv(panels, tasks);
    pool_.Run(CeilDiv(panels, count), [&](int64_t task, int thread) {
      body(Panels{task * count, std::min(panels, (task + 1) * count)}, thread);
    });
  };
  if (finish != kNoLayer) {
    const Rows out = OutputRows(finish);
    NormMulRows(finish, out, 0);
    by_panels(
        model_.layers()[finish].proj.panels(),
        [&, layer = finish](Panels panels, int thread) { ProjectOut(layer, out, panels, thread); });
  }
  if (begin == kNoLayer) return;
  const int64_t width = config_.hidden_size;
  const Matrix normed{workspace_.normed, rows_, width, width};
  const Rows all{0, rows_};
  NormRows(begin, all, normed, 0);
  by_panels(model_.layers()[begin].uvqk.panels(), [&, layer = begin](Panels panels, int thread) {
    ProjectIn(layer, all, normed, panels, Scratch(thread), thread);
  });
  CacheRows(begin, {candidate_rows_, rows_ - candidate_rows_}, 0);
}

// U = layer_norm(attention) * U; the attention stands in Q's place.
void Forward::NormMulRows(int64_t layer, Rows rows, int thread) const {
  TraceScope scope(trace_, thread, "norm_mul");
  scope.Work(0.0, 3.0 * Bytes(Part(kU, rows)));
  const LayerWeights& weights = model_.layers()[layer];
  operators_->norm_mul({Part(kQ, rows), Part(kU, rows), weights.output_norm_weight.data(),
                        weights.output_norm_bias.data(), config_.layernorm_epsilon,
                        Part(kU, rows)});
}

void Forward::ProjectOut(int64_t layer, Rows rows, Panels panels, int thread) const {
  TraceScope scope(trace_, thread, "linear_residual");
  const PackedView weight = model_.layers()[layer].proj;
  TraceGemm(Part(kU, rows), weight, panels.end - panels.begin, &scope);
  const ConstActivations residual =
      config_.residual ? ConstActivations(X(rows)) : ConstActivations();
  operators_->linear_residual(
      {Part(kU, rows), weight, residual, X(rows), panels.begin, panels.end, Scratch(thread)});
}

void Forward::NormRows(int64_t layer, Rows rows, Matrix out, int thread) const {
  TraceScope scope(trace_, thread, "layer_norm");
  scope.Work(0.0, 2.0 * Bytes(out));
  const LayerWeights& weights = model_.layers()[layer];
  operators_->layer_norm({X(rows), weights.input_norm_weight.data(), weights.input_norm_bias.data(),
                          config_.layernorm_epsilon, out});
}

// Of history rows in the last layer only V and K, in the panels that hold them. Each panel is read
// once for all rows that need it.
void Forward::ProjectIn(int64_t layer, Rows rows, ConstMatrix normed, Panels panels, float* scratch,
                        int thread) const {
  const LayerWeights& weights = model_.layers()[layer];
  TraceScope scope(trace_, thread, "in_linear_silu");
  const auto project = [&](int64_t count, int64_t begin, int64_t end) {
    begin = std::max(begin, panels.begin);
    end = std::min(end, panels.end);
    if (begin >= end || count == 0) return;
    const ConstMatrix x = normed.Rows(0, count);
    TraceGemm(x, weights.uvqk, end - begin, &scope);
    operators_->in_linear_silu({x, weights.uvqk, weights.uvqk_bias.data(),
                                Uvqk({rows.begin, count}), begin, end, scratch});
  };
  const int64_t whole = std::clamp<int64_t>(OutputRows(layer).count - rows.begin, 0, rows.count);
  if (whole == rows.count) {
    project(rows.count, panels.begin, panels.end);
    return;
  }
  const int64_t width = config_.attention_width();
  const int64_t v_begin = kV * width / kPanelWidth;
  const int64_t v_end = CeilDiv((kV + 1) * width, kPanelWidth);
  const int64_t k_begin = std::max(v_end, kK * width / kPanelWidth);
  project(whole, 0, v_begin);
  project(rows.count, v_begin, v_end);
  project(whole, v_end, k_begin);
  project(rows.count, k_begin, weights.uvqk.panels());
}

// K and V of history rows go to their pages.
void Forward::CacheRows(int64_t layer, Rows rows, int thread) const {
  TraceScope scope(trace_, thread, "reshape_and_cache");
  scope.Work(0.0, 4.0 * Bytes(Part(kK, rows)));
  ForEachPiece(rows, [&](const Piece& piece, Rows own) {
    const PieceStage& stage = piece.stages[stage_];
    const int64_t position = stage.history_first + own.begin - stage.history_row;
    if (int8_) {
      workspace_.own_pages.Write(*operators_, stage, layer - first_layer_, position, Part(kK, own),
                                 Part(kV, own));
    } else if (SharesKeysWithRanks()) {
      CacheOwnRows(layer, stage, position, own);
    } else {
      operators_->reshape_and_cache({Part(kK, own), Part(kV, own), position, workspace_.layout(),
                                     stage.memory.Layer(layer - first_layer_)});
    }
    observer_->WroteRows(layer, piece, position, own.count);
  });
}

void Forward::CloseOwnPages(int64_t layer) {
  const auto& pages = workspace_.full_pages;
  pool_.Run(static_cast<int64_t>(pages.size()), [&](int64_t task, int thread) {
    TraceScope scope(trace_, thread, "quantize_page");
    const FullPage& page = pages[task];
    if (SharesKeysWithRanks() && !ranks_->keys->Owns(page.position / kKeyChunk)) return;
    workspace_.own_pages.Close(*operators_, *page.stage, layer - first_layer_, page.position);
  });
}

void Forward::KeepOwnPages(int64_t layer) const {
  for (const Piece& piece : workspace_.pieces) {
    workspace_.own_pages.Keep(piece.stages[stage_], layer - first_layer_);
  }
}

// The running stage's blocks that a layer needs.
Forward::AttentionBlocks Forward::Blocks(int64_t layer) const {
  return OnlyKeysAndValues(layer) ? workspace_.candidate_blocks : workspace_.blocks;
}

void Forward::Attend(int64_t layer) {
  const AttentionBlocks blocks = Blocks(layer);
  const int64_t heads = config_.num_attention_heads;
  if (SharesKeysWithRanks()) {
    AttendOverRanks(layer, blocks);
    return;
  }
  if (SharesKeys(blocks)) {
    AttendInChunks(layer, blocks);
    return;
  }
  pool_.Run(static_cast<int64_t>(blocks.size()) * heads, [&](int64_t task, int thread) {
    TraceScope scope(trace_, thread, "hstu_attention");
    const AttentionBlock& block = blocks[task / heads];
    TraceAttention(block, &scope);
    operators_->hstu_attention(AttentionArgs(layer, block, task % heads, thread));
  });
}

// Where blocks and heads are too few for all threads, threads share the keys of few rows.
bool Forward::SharesKeys(AttentionBlocks blocks) const {
  if (operators_->hstu_attention_chunk == nullptr) return false;
  const int64_t tasks = static_cast<int64_t>(blocks.size()) * config_.num_attention_heads;
  if (tasks >= kSharedTasksPerThread * pool_.threads()) return false;
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const AttentionBlock& block) { return block.rows() <= kFewQueries; });
}

// Chunks of absolute positions, each by itself, then joined in order: the bits of the whole.
void Forward::AttendInChunks(int64_t layer, AttentionBlocks blocks) {
  const int64_t heads = config_.num_attention_heads;
  const int64_t most_chunks = workspace_.attention_chunks;
  const int64_t part = HstuAttentionPart(kFewQueries, config_.kv_channels);
  const auto parts = [&](int64_t block, int64_t head) {
    return workspace_.attention_parts + (block * heads + head) * most_chunks * part;
  };
  const auto chunks = [](const AttentionBlock& block) {
    const AttentionMask& mask = block.stage->mask;
    const int64_t first = mask.history_begin / kKeyChunk;
    const int64_t end = mask.History(block.position + block.rows() - 1).end;
    return std::pair{first, std::max<int64_t>(0, CeilDiv(end, kKeyChunk) - first)};
  };
  const int64_t tasks = static_cast<int64_t>(blocks.size()) * heads;
  pool_.Run(tasks * most_chunks, [&](int64_t task, int thread) {
    const AttentionBlock& block = blocks[task / most_chunks / heads];
    const int64_t head = task / most_chunks % heads;
    const int64_t chunk = task % most_chunks;
    const auto [first, count] = chunks(block);
    if (chunk >= count) return;
    TraceScope scope(trace_, thread, "hstu_attention");
    if (chunk == 0) TraceAttention(block, &scope);
    const int64_t size = HstuAttentionPart(block.rows(), config_.kv_channels);
    operators_->hstu_attention_chunk(AttentionArgs(layer, block, head, thread), first + chunk,
                                     parts(task / most_chunks / heads, head) + chunk * size);
  });
  pool_.Run(tasks, [&](int64_t task, int thread) {
    const AttentionBlock& block = blocks[task / heads];
    operators_->hstu_attention_join(AttentionArgs(layer, block, task % heads, thread),
                                    chunks(block).second, parts(task / heads, task % heads));
  });
}

OwnPage Forward::OwnPageOf(const AttentionBlock& block, int64_t layer) const {
  if (!int8_) return {};
  const OwnPages& pages = workspace_.own_pages;
  if (block.position >= block.stage->mask.history_end) {
    return pages.OfCandidates(*block.stage, layer - first_layer_);
  }
  return pages.At(*block.stage, layer - first_layer_, block.position);
}

void Forward::TraceAttention(const AttentionBlock& block, TraceScope* scope) const {
  if (!scope->enabled()) return;
  const auto dim = static_cast<double>(config_.kv_channels);
  const AttentionMask& mask = block.stage->mask;
  const KeyInterval seen = mask.History(block.position + block.rows() - 1);
  const auto element = static_cast<double>(SizeOf(workspace_.layout().dtype));
  scope->Work(4.0 * dim * VisiblePairs(block),
              2.0 * dim *
                  (element * static_cast<double>(seen.end - mask.history_begin) +
                   static_cast<double>(block.rows()) * static_cast<double>(SizeOf(dtype_))));
}

// The result takes Q's place, which nobody else reads.
HstuAttentionArgs Forward::AttentionArgs(int64_t layer, const AttentionBlock& block, int64_t head,
                                         int thread) const {
  const PieceStage& stage = *block.stage;
  const int64_t dim = config_.kv_channels;
  const Activations q = Part(kQ, {block.row, block.count}).Cols(head * dim, dim);
  const Rows group{block.piece->candidate_row, block.piece->candidate_count};
  const Activations after = Part(kQ, {group.begin, block.candidates}).Cols(head * dim, dim);
  return {config_.attention,
          static_cast<float>(config_.scaling_seqlen),
          workspace_.layout(),
          stage.memory.Layer(layer - first_layer_),
          stage.mask,
          head,
          block.position,
          q,
          q,
          Part(kK, group).Cols(head * dim, dim),
          Part(kV, group).Cols(head * dim, dim),
          Scratch(thread),
          OwnPageOf(block, layer),
          after,
          after,
          workspace_.layout().dtype == KvDType::kBF16 ? model_.products() : Products::kF32};
}

void Forward::Head() {
  const int64_t tasks = CeilDiv(candidate_rows_, kRowBlock);
  int64_t widest = config_.hidden_size;
  for (const int64_t size : config_.prediction_head_arch) widest = std::max(widest, size);
  pool_.Run(tasks, [&](int64_t task, int thread) {
    const int64_t begin = task * kRowBlock;
    const Rows rows{begin, std::min(kRowBlock, candidate_rows_ - begin)};
    TraceScope scope(trace_, thread, "head");
    float* scratch = Scratch(thread);
    float* buffers[] = {scratch, scratch + kRowBlock * widest};
    Matrix x{buffers[0], rows.count, config_.hidden_size, config_.hidden_size};
    operators_->l2_norm({X(rows), x});
    const auto& head = model_.head();
    for (size_t i = 0; i < head.size(); ++i) {
      const bool last = i + 1 == head.size();
      const int64_t width = head[i].weight.n;
      float* to = last ? workspace_.logits() + begin * width : buffers[(i + 1) % 2];
      const Matrix out{to, rows.count, width, width};
      TraceGemm(x, head[i].weight, head[i].weight.panels(), &scope);
      operators_->linear(
          {x, head[i].weight, head[i].bias.data(), !last, out, scratch + 2 * kRowBlock * widest});
      x = out;
    }
  });
}

}  // namespace hstu
