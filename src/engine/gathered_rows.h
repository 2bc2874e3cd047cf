// The rows of split tables that a step looks up: every rank gives those that it holds, and gets
// all.
#ifndef HSTU_ENGINE_GATHERED_ROWS_H_
#define HSTU_ENGINE_GATHERED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/piece.h"
#include "kernels/embed_tokens.h"
#include "model/model.h"
#include "ranks/exchange.h"

namespace hstu {

class GatheredRows {
 public:
  // `exchange`: with the ranks that share the tables, in the order of the model's part.
  GatheredRows(const Model& model, std::unique_ptr<Exchange> exchange);

  const Exchange& exchange() const { return *exchange_; }

  // Brings the rows of a step's pieces; rows that some rank packs travel while others are packed.
  void Gather(std::span<const Piece> pieces);

  // Makes the arguments of a call that embeds rows of piece number `piece` read what was gathered
  // instead of split tables.
  void Replace(size_t piece, EmbedTokensArgs* args) const;

 private:
  // A table, and what the step takes of it.
  struct Table {
    RowTable mapped;
    RowSplit split;                 // without rows: whole on every rank
    std::vector<int64_t> wanted;    // rows
    std::vector<std::byte> rows;    // [wanted, C], as they are in the table
    std::vector<std::byte> own[2];  // this rank's of the part that is packed, and of the one before
    std::vector<std::byte> all[2];  // all ranks' of them
    std::vector<int64_t> sizes;     // of each rank's part, in bytes
    std::vector<int64_t> placed;    // bytes taken of each rank's part
  };

  // A piece's ids: those of split tables are places among the gathered rows.
  struct Ids {
    std::vector<int64_t> contextual;
    std::vector<int64_t> items;
    std::vector<int64_t> actions;
    std::vector<int64_t> candidates;
    int64_t first_item = 0;
  };

  int64_t Want(size_t index, int64_t row);
  void ListIds(const Piece& piece, Ids* ids);
  void ListHistory(const Piece& piece, Ids* ids);
  void GatherTable(Table* table);
  void Pack(Table* table, int64_t begin, int64_t end, int buffer) const;
  void Unpack(Table* table, int64_t begin, int64_t end, int buffer) const;
  void SizeParts(Table* table, int64_t begin, int64_t end) const;
  int64_t RowBytes(const Table& table) const;
  RowTable Gathered(size_t index) const;

  const ModelConfig& config_;
  const std::unique_ptr<Exchange> exchange_;
  std::vector<Table> tables_;  // of each feature
  size_t item_ = 0;
  size_t action_ = 0;  // read only where the model has actions
  std::vector<size_t> contextual_;
  std::vector<RowTable> contextual_tables_;
  std::vector<Ids> ids_;  // of each piece
};

}  // namespace hstu

#endif  // HSTU_ENGINE_GATHERED_ROWS_H_
