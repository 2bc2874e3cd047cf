// The files of a replay: processed sequences up to a line "---", then their batches. What is read
// must be whole: every moment lies in its row, and a user's moments ascend.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/replay.h"
#include "data/user_days.h"
#include "memory_file.h"

namespace hstu {
namespace {

constexpr std::string_view kSeparator = "---\n";

void ReadReplay(const std::string& sequences, const std::string& batches) {
  const auto days = UserDays::Open(sequences, {"video_id", "action_weights", {"degree"}});
  if (!days.ok()) return;
  const auto replay = Replay::Open(batches, days.value());
  if (!replay.ok()) return;
  std::unordered_map<std::int64_t, std::int64_t> reached;
  std::vector<std::int64_t> items;
  std::vector<std::int64_t> actions;
  for (const ReplayMoment& moment : replay->moments()) {
    const UserDay& day = days->row(moment.row);
    if (moment.end <= day.begin || moment.end > day.end) std::abort();
    std::int64_t& end = reached[day.user];
    if (moment.end <= end) std::abort();
    end = moment.end;
    days->Copy(moment.row, 0, days->StreamItems(moment.row), &items, &actions);
    if (static_cast<std::int64_t>(items.size()) < moment.end) std::abort();
  }
}

}  // namespace
}  // namespace hstu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t at = text.find(hstu::kSeparator);
  if (at == text.npos) return 0;
  const hstu::MemoryFile sequences(text.substr(0, at));
  const hstu::MemoryFile batches(text.substr(at + hstu::kSeparator.size()));
  hstu::ReadReplay(sequences.path(), batches.path());
  return 0;
}
