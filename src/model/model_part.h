// What of a model one of several ranks holds: rows of large tables, heads.
#ifndef HSTU_MODEL_MODEL_PART_H_
#define HSTU_MODEL_MODEL_PART_H_

#include <algorithm>
#include <cstdint>

namespace hstu {

// Rows in equal runs, one a rank, the first ranks one more where they don't divide.
struct RowSplit {
  std::int64_t rows = 0;
  std::int64_t ranks = 1;

  std::int64_t Begin(std::int64_t rank) const {
    return rank * (rows / ranks) + std::min(rank, rows % ranks);
  }
  std::int64_t OwnerOf(std::int64_t row) const {
    const std::int64_t longer = rows % ranks * (rows / ranks + 1);  // rows of ranks with one more
    if (row < longer) return row / (rows / ranks + 1);
    return rows % ranks + (row - longer) / (rows / ranks);
  }
};

struct ModelPart {
  std::int64_t table_ranks = 1;  // that share the rows of tables
  std::int64_t table_rank = 0;
  std::int64_t table_min_rows = 1000;  // smaller tables are whole on every rank
  std::int64_t head_ranks = 1;         // that share the heads; they divide them
  std::int64_t head_rank = 0;

  bool Splits(std::int64_t rows) const {
    return table_ranks > 1 && rows >= std::max(table_min_rows, table_ranks);
  }
};

}  // namespace hstu

#endif  // HSTU_MODEL_MODEL_PART_H_
