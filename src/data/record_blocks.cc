#include "data/record_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hstu {

Result<RecordBlocks> RecordBlocks::Open(const std::string& path, const RecordBlockLimits& limits) {
  HSTU_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return RecordBlocks(std::move(file), limits);
}

namespace {

// Small files need no large block; what is compressed grows a few times.
std::size_t FirstBlockBytes(const InputFile& file, const RecordBlockLimits& limits) {
  constexpr std::int64_t kGrowth = 8;
  constexpr std::int64_t kLeast = 4096;
  if (file.bytes_on_disk() == 0) return limits.block_bytes;  // of a pipe nothing is known
  return static_cast<std::size_t>(std::min(static_cast<std::int64_t>(limits.block_bytes),
                                           std::max(kLeast, kGrowth * file.bytes_on_disk())));
}

}  // namespace

RecordBlocks::RecordBlocks(InputFile file, const RecordBlockLimits& limits)
    : file_(std::move(file)), limits_(limits), buffer_(FirstBlockBytes(file_, limits)) {}

// Moves what is left to the front and reads until the buffer is full or the file ends.
Status RecordBlocks::Refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (!at_end_ && end_ + 1 < buffer_.size()) {  // one byte is kept for the last '\n'
    HSTU_ASSIGN_OR_RETURN(std::size_t got,
                          file_.Read(buffer_.data() + end_, buffer_.size() - end_ - 1));
    at_end_ = got == 0;
    end_ += got;
  }
  if (at_start_) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (std::string_view(buffer_.data(), end_).substr(0, 3) == kByteOrderMark) begin_ = 3;
    at_start_ = false;
  }
  if (at_end_ && end_ > begin_ && buffer_[end_ - 1] != '\n') buffer_[end_++] = '\n';
  return {};
}

std::size_t RecordBlocks::LastRecordEnd() const {
  std::string_view text(buffer_.data() + begin_, end_ - begin_);
  if (text.find('"') == text.npos) {
    std::size_t newline = text.rfind('\n');
    return newline == text.npos ? 0 : newline + 1;
  }
  std::size_t last = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) last = i + 1;
  }
  return last;
}

Result<bool> RecordBlocks::Next(RecordBlock* block) {
  HSTU_RETURN_IF_ERROR(Refill());
  if (end_ == begin_) return false;
  std::size_t size = LastRecordEnd();
  while (size == 0) {
    if (at_end_) {
      return MakeError(ErrorCode::kBadData, "{}:{}: a quote is opened and never closed",
                       file_.path(), line_);
    }
    if (buffer_.size() >= limits_.max_record_bytes) {
      return MakeError(ErrorCode::kBadData,
                       "{}:{}: the line is longer than {} bytes; is a quote never closed?",
                       file_.path(), line_, limits_.max_record_bytes);
    }
    buffer_.resize(std::min(buffer_.size() * 2, limits_.max_record_bytes));
    HSTU_RETURN_IF_ERROR(Refill());
    size = LastRecordEnd();
  }
  block->text = std::string_view(buffer_.data() + begin_, size);
  block->first_line = line_;
  block->has_quotes = block->text.find('"') != std::string_view::npos;
  begin_ += size;
  line_ += std::count(block->text.begin(), block->text.end(), '\n');
  return true;
}

std::size_t RecordEnd(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return text.size();
}

}  // namespace hstu
