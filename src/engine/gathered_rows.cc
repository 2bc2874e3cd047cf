#include "engine/gathered_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace hstu {
namespace {

constexpr int64_t kRowsTogether = 512;  // one part of an exchange

}  // namespace

GatheredRows::GatheredRows(const Model& model, std::unique_ptr<Exchange> exchange)
    : config_(model.config()), exchange_(std::move(exchange)) {
  const auto add = [&](const FeatureTable& feature) {
    const bool is_split = model.part().Splits(feature.num_embeddings);
    tables_.push_back({});
    tables_.back().mapped = {feature.weight.data, feature.weight.dtype};
    if (is_split) tables_.back().split = {feature.num_embeddings, exchange_->size()};
    tables_.back().sizes.resize(exchange_->size());
    tables_.back().placed.resize(exchange_->size());
    return tables_.size() - 1;
  };
  item_ = add(model.files().item());
  if (model.files().action() != nullptr) action_ = add(*model.files().action());
  for (const FeatureTable* feature : model.files().contextual()) {
    contextual_.push_back(add(*feature));
  }
}

void GatheredRows::Gather(std::span<const Piece> pieces) {
  for (Table& table : tables_) table.wanted.clear();
  if (ids_.size() < pieces.size()) ids_.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) ListIds(pieces[i], &ids_[i]);
  for (Table& table : tables_) GatherTable(&table);
  contextual_tables_.clear();
  for (const size_t table : contextual_) contextual_tables_.push_back(Gathered(table));
}

void GatheredRows::Replace(size_t piece, EmbedTokensArgs* args) const {
  const Ids& ids = ids_[piece];
  args->contextual_tables = contextual_tables_;
  args->contextual = ids.contextual.data();
  args->item_table = Gathered(item_);
  if (args->action_table.data != nullptr) args->action_table = Gathered(action_);
  if (!args->candidates.empty()) args->candidates = ids.candidates;
  if (args->items.empty()) return;
  args->first_item = ids.first_item;
  args->items = ids.items;
  args->actions = ids.actions;
}

// The place of a row among the gathered ones; a whole table's row stays what it is.
int64_t GatheredRows::Want(size_t index, int64_t row) {
  Table& table = tables_[index];
  if (table.split.rows == 0) return row;
  table.wanted.push_back(row);
  return static_cast<int64_t>(table.wanted.size()) - 1;
}

// Those items alone that the step computes a token of.
void GatheredRows::ListHistory(const Piece& piece, Ids* ids) {
  const UserTokens& user = *piece.user;
  const int64_t begin = piece.stages[0].history_first;
  const int64_t end = begin + piece.stages[0].history_count;
  for (int64_t i = 0; begin < piece.num_context && i < piece.num_context; ++i) {
    ids->contextual[i] = Want(contextual_[i], user.contextual[i]);
  }
  const auto item_of = [&](int64_t token) {
    return (token - piece.num_context) / config_.tokens_per_item() - piece.first_item;
  };
  const int64_t first = item_of(std::max(begin, piece.num_context));
  ids->first_item = piece.first_item + first;
  for (int64_t i = first; end > piece.num_context && i <= item_of(end - 1); ++i) {
    ids->items.push_back(Want(item_, user.items[i]));
    if (!user.actions.empty()) ids->actions.push_back(Want(action_, user.actions[i]));
  }
}

void GatheredRows::ListIds(const Piece& piece, Ids* ids) {
  const UserTokens& user = *piece.user;
  ids->contextual.assign(user.contextual.begin(), user.contextual.end());
  ids->items.clear();
  ids->actions.clear();
  ids->candidates.assign(user.candidates.begin(), user.candidates.end());
  if (piece.stages[0].history_count == 0) {
    ids->first_item = piece.first_item;
  } else {
    ListHistory(piece, ids);
  }
  for (int64_t i = 0; i < piece.candidate_count; ++i) {
    int64_t& candidate = ids->candidates[piece.candidate_first + i];
    candidate = Want(item_, candidate);
  }
}

void GatheredRows::GatherTable(Table* table) {
  const auto wanted = static_cast<int64_t>(table->wanted.size());
  table->rows.resize(wanted * RowBytes(*table));
  int64_t ticket = 0;
  for (int64_t begin = 0; begin < wanted; begin += kRowsTogether) {
    const int64_t end = std::min(wanted, begin + kRowsTogether);
    const int buffer = static_cast<int>(begin / kRowsTogether % 2);
    Pack(table, begin, end, buffer);
    const int64_t before = std::exchange(
        ticket,
        exchange_->Start(table->own[buffer].data(), table->sizes, table->all[buffer].data()));
    if (begin == 0) continue;
    exchange_->Wait(before);
    Unpack(table, begin - kRowsTogether, begin, 1 - buffer);
  }
  if (wanted == 0) return;
  exchange_->Wait(ticket);
  const int64_t last = (wanted - 1) / kRowsTogether;
  Unpack(table, last * kRowsTogether, wanted, static_cast<int>(last % 2));
}

// How many bytes each rank gives of the wanted rows [begin, end).
void GatheredRows::SizeParts(Table* table, int64_t begin, int64_t end) const {
  std::fill(table->sizes.begin(), table->sizes.end(), 0);
  for (int64_t i = begin; i < end; ++i) {
    table->sizes[table->split.OwnerOf(table->wanted[i])] += RowBytes(*table);
  }
}

void GatheredRows::Pack(Table* table, int64_t begin, int64_t end, int buffer) const {
  SizeParts(table, begin, end);
  const int64_t row_bytes = RowBytes(*table);
  std::vector<std::byte>& own = table->own[buffer];
  own.resize(table->sizes[exchange_->rank()]);
  table->all[buffer].resize((end - begin) * row_bytes);
  std::byte* to = own.data();
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = table->wanted[i];
    if (table->split.OwnerOf(row) != exchange_->rank()) continue;
    to = std::copy_n(table->mapped.data + row * row_bytes, row_bytes, to);
  }
}

// Each rank's rows came side by side, in the order in which they are wanted.
void GatheredRows::Unpack(Table* table, int64_t begin, int64_t end, int buffer) const {
  SizeParts(table, begin, end);
  const int64_t row_bytes = RowBytes(*table);
  std::exclusive_scan(table->sizes.begin(), table->sizes.end(), table->placed.begin(), int64_t{0});
  for (int64_t i = begin; i < end; ++i) {
    int64_t& from = table->placed[table->split.OwnerOf(table->wanted[i])];
    std::memcpy(table->rows.data() + i * row_bytes, table->all[buffer].data() + from, row_bytes);
    from += row_bytes;
  }
}

int64_t GatheredRows::RowBytes(const Table& table) const {
  return config_.hidden_size * static_cast<int64_t>(SizeOf(table.mapped.dtype));
}

RowTable GatheredRows::Gathered(size_t index) const {
  const Table& table = tables_[index];
  if (table.split.rows == 0) return table.mapped;
  return {table.rows.data(), table.mapped.dtype};
}

}  // namespace hstu
