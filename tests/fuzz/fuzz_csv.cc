// Logs, user features and processed files. The first byte chooses which.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "data/log_format.h"
#include "data/log_parser.h"
#include "data/processed_reader.h"
#include "data/record_blocks.h"
#include "data/user_features.h"
#include "memory_file.h"

namespace hstu {
namespace {

void ReadLog(const std::string& path, const LogFormat& format) {
  // Small blocks, so that records cross their ends.
  auto blocks = RecordBlocks::Open(path, {.block_bytes = 64, .max_record_bytes = 1 << 20});
  if (!blocks.ok()) return;
  std::optional<LogParser> parser;
  std::vector<Interaction> rows;
  for (RecordBlock block;;) {
    auto more = blocks->Next(&block);
    if (!more.ok() || !more.value()) return;
    if (!parser) {
      std::string_view header =
          format.has_header ? block.text.substr(0, RecordEnd(block.text)) : std::string_view();
      auto created = LogParser::Create(path, format, header);
      if (!created.ok()) return;
      parser = std::move(created).value();
      block.text.remove_prefix(header.size());
    }
    if (!parser->Parse(block, &rows).ok()) return;
  }
}

void ReadFeatures(const std::string& path, const UserFeaturesFormat& format) {
  auto features = UserFeatures::Load(path, format);
  if (!features.ok()) return;
  std::size_t bytes = features->Header().size();
  features->AppendRow(0, [&bytes](std::string_view piece) { bytes += piece.size(); });
}

void ReadProcessed(const std::string& path) {
  auto reader = ProcessedReader::Open(path, {{"user_id"}, {"video_id", "action_weights"}});
  if (!reader.ok()) return;
  for (ProcessedRow row;;) {
    auto more = reader->Next(&row);
    if (!more.ok() || !more.value()) return;
    if (row.values.size() != 1 || row.lists.size() != 2) std::abort();
  }
}

}  // namespace
}  // namespace hstu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const hstu::MemoryFile file({reinterpret_cast<const char*>(data) + 1, size - 1});
  switch (data[0] % 6) {
    case 0:
      hstu::ReadLog(file.path(), hstu::KuaiRandLog());
      break;
    case 1:
      hstu::ReadLog(file.path(), hstu::MovieLens1MLog());
      break;
    case 2:
      hstu::ReadLog(file.path(), hstu::MovieLens20MLog());
      break;
    case 3:
      hstu::ReadFeatures(file.path(), hstu::KuaiRandUserFeatures());
      break;
    case 4:
      hstu::ReadFeatures(file.path(), hstu::MovieLens1MUserFeatures());
      break;
    default:
      hstu::ReadProcessed(file.path());
  }
  return 0;
}
