// Cuts a text file into blocks of whole records, so that large files are read in bounded memory.
#ifndef HSTU_DATA_RECORD_BLOCKS_H_
#define HSTU_DATA_RECORD_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_file.h"
#include "hstu/hstu.hpp"

namespace hstu {

// Whole records, each ended by '\n' (the last line of a file gets one if it has none). They stay
// valid until the next block is asked for.
struct RecordBlock {
  std::string_view text;
  std::int64_t first_line = 1;  // of the block, counted from 1
  bool has_quotes = false;      // a record may then span lines
};

struct RecordBlockLimits {
  std::size_t block_bytes = 8 << 20;
  // A longer record is an error: it is almost always a quote that is never closed.
  std::size_t max_record_bytes = 1 << 30;
};

class RecordBlocks {
 public:
  static Result<RecordBlocks> Open(const std::string& path, const RecordBlockLimits& limits = {});

  // False at the end of the file.
  Result<bool> Next(RecordBlock* block);

  const InputFile& file() const { return file_; }

 private:
  RecordBlocks(InputFile file, const RecordBlockLimits& limits);
  Status Refill();
  std::size_t LastRecordEnd() const;

  InputFile file_;
  RecordBlockLimits limits_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what was not yet handed out
  std::size_t end_ = 0;
  bool at_end_ = false;
  bool at_start_ = true;
  std::int64_t line_ = 1;
};

// The end of the record that begins `text`: past its '\n', which a quoted field may hold without
// ending the record. text.size() when there is none.
std::size_t RecordEnd(std::string_view text);

}  // namespace hstu

#endif  // HSTU_DATA_RECORD_BLOCKS_H_
