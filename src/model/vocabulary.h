// Raw ids of a table's rows: a text file with one decimal integer a line, line 0 for row 0.
#ifndef HSTU_MODEL_VOCABULARY_H_
#define HSTU_MODEL_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

// Both ways between raw ids and rows. About 8 bytes an id for the ids and 6 to 12 for the index;
// a lookup touches two cache lines.
class Vocabulary {
 public:
  // Refused with kBadModel and `file_name`:line: what is no decimal integer of 64 bits (an empty
  // line too, it would shift the rows), an id given twice, more lines than `num_rows`.
  static Result<Vocabulary> Parse(std::string_view text, std::string file_name,
                                  std::int64_t num_rows);

  const std::string& file_name() const { return file_name_; }
  std::span<const std::int64_t> ids() const { return ids_; }  // [size], by row
  std::int64_t num_bytes() const;                             // of memory

  std::optional<std::int64_t> Find(std::int64_t id) const;

 private:
  Status BuildIndex();
  std::size_t FirstSlot(std::int64_t id) const;

  std::string file_name_;
  std::vector<std::int64_t> ids_;
  // Open addressing; a slot holds row + 1, 0 is free. A power of two, at most two thirds full.
  std::vector<std::uint32_t> slots_;
};

}  // namespace hstu

#endif  // HSTU_MODEL_VOCABULARY_H_
