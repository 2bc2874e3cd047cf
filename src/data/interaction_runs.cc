#include "data/interaction_runs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"

namespace hstu {
namespace {

// Stable. Logs are mostly in order, so look before sorting.
void SortByTime(std::span<Interaction> rows) {
  auto earlier = [](const Interaction& a, const Interaction& b) { return a.time < b.time; };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier)) {
    std::stable_sort(rows.begin(), rows.end(), earlier);
  }
}

struct UserKey {
  std::uint64_t user;  // shifted so that it orders like the signed id
  std::uint32_t row;
};

// Small, so that rows themselves are moved once.
struct TimeKey {
  std::int64_t time;
  std::uint32_t row;  // ties stay in the order of rows
  bool operator<(const TimeKey& other) const {
    return time != other.time ? time < other.time : row < other.row;
  }
};

// Stable: least significant digits first, those that all keys share left out.
void RadixSort(std::vector<UserKey>* keys, std::vector<UserKey>* to) {
  constexpr int kBits = 11;
  constexpr std::size_t kBuckets = 1 << kBits;
  std::uint64_t varying = 0;
  for (const UserKey& key : *keys) varying |= key.user ^ keys->front().user;
  to->resize(keys->size());
  for (int shift = 0; shift < 64; shift += kBits) {
    auto digit = [shift](const UserKey& key) { return (key.user >> shift) & (kBuckets - 1); };
    if (((varying >> shift) & (kBuckets - 1)) == 0) continue;
    std::array<std::uint32_t, kBuckets> starts = {};
    for (const UserKey& key : *keys) ++starts[digit(key)];
    std::uint32_t sum = 0;
    for (std::uint32_t& start : starts) sum += std::exchange(start, sum);
    for (const UserKey& key : *keys) (*to)[starts[digit(key)]++] = key;
    keys->swap(*to);
  }
}

}  // namespace

// Keeps its buffers, because fresh memory for millions of rows costs as much as sorting them.
class InteractionRuns::Sorter {
 public:
  // By user, then time; ties stay in order. Valid until the next Sort.
  std::vector<Interaction>& Sort(const std::vector<Interaction>& rows) {
    keys_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      keys_.push_back({static_cast<std::uint64_t>(rows[i].user) ^ (std::uint64_t{1} << 63),
                       static_cast<std::uint32_t>(i)});
    }
    RadixSort(&keys_, &other_keys_);
    sorted_.clear();
    sorted_.reserve(rows.size());
    for (auto begin = keys_.begin(); begin != keys_.end();) {
      times_.clear();
      auto end = begin;
      for (; end != keys_.end() && end->user == begin->user; ++end) {
        times_.push_back({rows[end->row].time, end->row});
      }
      if (!std::is_sorted(times_.begin(), times_.end())) std::sort(times_.begin(), times_.end());
      for (const TimeKey& key : times_) sorted_.push_back(rows[key.row]);
      begin = end;
    }
    return sorted_;
  }

 private:
  std::vector<UserKey> keys_;
  std::vector<UserKey> other_keys_;
  std::vector<TimeKey> times_;
  std::vector<Interaction> sorted_;
};

InteractionRuns::InteractionRuns(RunLimits limits)
    : limits_(std::move(limits)), sorter_(std::make_unique<Sorter>()) {
  limits_.run_rows =
      std::min<std::int64_t>(limits_.run_rows, std::numeric_limits<std::uint32_t>::max());
}

InteractionRuns::~InteractionRuns() {
  if (spill_fd_ >= 0) close(spill_fd_);
}

Status InteractionRuns::Append(int log, std::span<const Interaction> rows) {
  if (log != open_log_) HSTU_RETURN_IF_ERROR(CloseRun());
  open_log_ = log;
  // Room that is never written to costs nothing, and growing would copy.
  open_.reserve(static_cast<std::size_t>(limits_.run_rows));
  while (!rows.empty()) {
    std::size_t room = static_cast<std::size_t>(limits_.run_rows) - open_.size();
    std::size_t taken = std::min(room, rows.size());
    open_.insert(open_.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(taken));
    rows = rows.subspan(taken);
    if (taken == room) HSTU_RETURN_IF_ERROR(CloseRun());
  }
  return {};
}

Status InteractionRuns::Finish() {
  HSTU_RETURN_IF_ERROR(CloseRun());
  sorter_.reset();
  open_ = std::vector<Interaction>();
  return {};
}

Status InteractionRuns::CloseRun() {
  if (open_.empty()) return {};
  std::vector<Interaction>& sorted = sorter_->Sort(open_);
  open_.clear();
  InteractionRun run;
  run.log = open_log_;
  auto rows = static_cast<std::int64_t>(sorted.size());
  if (resident_rows_ + rows <= limits_.resident_rows) {
    resident_rows_ += rows;
    run.rows.swap(sorted);
  } else {
    HSTU_RETURN_IF_ERROR(Spill(sorted, &run));
  }
  runs_.push_back(std::move(run));
  return {};
}

Status InteractionRuns::Spill(std::span<const Interaction> rows, InteractionRun* run) {
  auto failed = [this] {
    return MakeError(ErrorCode::kIo,
                     "sorted runs can't be kept in {}: {}; they need about as much room as the log",
                     limits_.spill_folder, std::strerror(errno));
  };
  if (spill_fd_ < 0) {
    std::string name = limits_.spill_folder + "/.hstu-runs-XXXXXX";
    spill_fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (spill_fd_ < 0) return failed();
    unlink(name.c_str());  // it goes when the process does, however that ends
  }
  run->spilled_at = spilled_bytes_;
  run->spilled_rows = static_cast<std::int64_t>(rows.size());
  const char* from = reinterpret_cast<const char*>(rows.data());
  std::size_t left = rows.size_bytes();
  while (left > 0) {
    ssize_t written = pwrite(spill_fd_, from, left, spilled_bytes_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed();
    from += written;
    left -= static_cast<std::size_t>(written);
    spilled_bytes_ += written;
  }
  return {};
}

// Reads one run from front to back, from memory or from the spill file.
class UserWalk::Reader {
 public:
  Reader(const InteractionRun& run, int spill_fd, std::size_t buffer_rows)
      : log_(run.log),
        ahead_(run.rows),
        fd_(spill_fd),
        buffer_(run.spilled_rows > 0 ? buffer_rows : 0),
        offset_(run.spilled_at),
        rows_left_(run.spilled_rows) {}

  int log() const { return log_; }
  bool resident() const { return buffer_.empty(); }

  // Brings rows to hand, if there are more.
  Status Fill() {
    if (!ahead_.empty() || rows_left_ == 0) return {};
    auto rows = std::min<std::int64_t>(rows_left_, static_cast<std::int64_t>(buffer_.size()));
    char* to = reinterpret_cast<char*>(buffer_.data());
    std::size_t left = static_cast<std::size_t>(rows) * sizeof(Interaction);
    while (left > 0) {
      ssize_t got = pread(fd_, to, left, offset_);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return MakeError(ErrorCode::kIo, "a spilled run can't be read back: {}",
                         got < 0 ? std::strerror(errno) : "it was cut");
      }
      to += got;
      left -= static_cast<std::size_t>(got);
      offset_ += got;
    }
    rows_left_ -= rows;
    ahead_ = std::span<const Interaction>(buffer_).first(static_cast<std::size_t>(rows));
    return {};
  }

  bool has_row() const { return !ahead_.empty(); }
  const Interaction& front() const { return ahead_.front(); }

  // Rows at hand of the user at the front; more of them may follow after a Fill.
  std::span<const Interaction> TakeUser() {
    std::int64_t user = front().user;
    auto end = std::find_if(ahead_.begin(), ahead_.end(),
                            [user](const Interaction& row) { return row.user != user; });
    auto taken = ahead_.first(static_cast<std::size_t>(end - ahead_.begin()));
    ahead_ = ahead_.subspan(taken.size());
    return taken;
  }

 private:
  int log_;
  std::span<const Interaction> ahead_;
  int fd_;
  std::vector<Interaction> buffer_;
  std::int64_t offset_;
  std::int64_t rows_left_;
};

UserWalk::UserWalk(const InteractionRuns& runs, int first_log, int end_log) {
  // All buffers together stay small however many runs there are.
  constexpr std::size_t kBufferRows = 2 << 20;
  std::size_t buffer_rows =
      std::clamp<std::size_t>(kBufferRows / (runs.runs().size() + 1), 64, 32 << 10);
  for (const InteractionRun& run : runs.runs()) {
    if (run.log < first_log || run.log >= end_log) continue;
    readers_.push_back(std::make_unique<Reader>(run, runs.spill_fd(), buffer_rows));
  }
}

UserWalk::~UserWalk() = default;

Result<bool> UserWalk::Next() {
  for (const auto& reader : readers_) HSTU_RETURN_IF_ERROR(reader->Fill());
  std::vector<Reader*> holders = HoldersOfNextUser();
  parts_.clear();
  if (holders.empty()) return false;
  if (holders.size() == 1 && holders.front()->resident()) {
    parts_.push_back({holders.front()->log(), holders.front()->TakeUser()});
    return true;
  }
  HSTU_RETURN_IF_ERROR(Join(holders));
  return true;
}

// The readers that stand at the smallest user, in the order of their runs.
std::vector<UserWalk::Reader*> UserWalk::HoldersOfNextUser() {
  std::vector<Reader*> holders;
  for (const auto& reader : readers_) {
    if (!reader->has_row()) continue;
    std::int64_t user = reader->front().user;
    if (!holders.empty() && user > holders.front()->front().user) continue;
    if (!holders.empty() && user < holders.front()->front().user) holders.clear();
    holders.push_back(reader.get());
  }
  return holders;
}

// Copies the user's rows of all holders; they have to be next to each other, and what was spilled
// has to outlive its reader's buffer.
Status UserWalk::Join(const std::vector<Reader*>& holders) {
  std::int64_t user = holders.front()->front().user;
  std::vector<std::size_t> begins;
  joined_.clear();
  for (Reader* holder : holders) {
    if (parts_.empty() || parts_.back().log != holder->log()) {
      parts_.push_back({holder->log(), {}});
      begins.push_back(joined_.size());
    }
    while (holder->has_row() && holder->front().user == user) {
      auto rows = holder->TakeUser();
      joined_.insert(joined_.end(), rows.begin(), rows.end());
      HSTU_RETURN_IF_ERROR(holder->Fill());
    }
  }
  begins.push_back(joined_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    std::span<Interaction> rows = std::span(joined_).subspan(begins[i], begins[i + 1] - begins[i]);
    SortByTime(rows);
    parts_[i].rows = rows;
  }
  return {};
}

std::span<const Interaction> UserWalk::ByTime() {
  if (parts_.size() == 1) return parts_.front().rows;
  SortByTime(joined_);
  return joined_;
}

}  // namespace hstu
