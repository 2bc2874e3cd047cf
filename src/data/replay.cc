#include "data/replay.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "data/processed_reader.h"

namespace hstu {
namespace {

constexpr const char* kUserColumn = "user_id";
constexpr const char* kDateColumn = "date";
constexpr const char* kTimeColumn = "interval_end_ts";
constexpr const char* kEndColumn = "interval_indptr";

}  // namespace

Replay::Replay(const UserDays& days, ScratchList<ReplayMoment> moments)
    : days_(&days), moments_(std::move(moments)), paired_(days.rows().size()) {}

Result<Replay> Replay::Open(const std::string& path, const UserDays& days) {
  HSTU_ASSIGN_OR_RETURN(auto moments, ScratchList<ReplayMoment>::Create());
  Replay replay(days, std::move(moments));
  HSTU_RETURN_IF_ERROR(replay.Read(path));
  HSTU_RETURN_IF_ERROR(replay.moments_.Map());
  replay.Order();
  replay.paired_ = {};
  return replay;
}

Status Replay::Read(const std::string& path) {
  HSTU_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadColumnNames(path));
  const bool has_dates = std::find(names.begin(), names.end(), kDateColumn) != names.end();
  if (has_dates != days_->has_dates()) {
    return MakeError(ErrorCode::kBadData,
                     "{}:1: it has {} column {} but {} has {}; make both in one run of `hstu "
                     "preprocess`",
                     path, has_dates ? "a" : "no", kDateColumn, days_->path(),
                     has_dates ? "none" : "one");
  }
  ProcessedColumns wanted;
  wanted.values = {kUserColumn, kTimeColumn, kEndColumn};
  if (has_dates) wanted.values.emplace_back(kDateColumn);
  HSTU_ASSIGN_OR_RETURN(ProcessedReader reader, ProcessedReader::Open(path, wanted));
  Progress progress("reading " + path, 0, "intervals");
  for (ProcessedRow row;;) {
    HSTU_ASSIGN_OR_RETURN(const bool more, reader.Next(&row));
    if (!more) return {};
    HSTU_RETURN_IF_ERROR(Add(path, row.line, row.values[0], has_dates ? row.values[3] : 0,
                             row.values[1], row.values[2]));
    progress.Update(moments_.size());
  }
}

Status Replay::Add(const std::string& path, std::int64_t line, std::int64_t user, std::int64_t date,
                   std::int64_t time, std::int64_t end) {
  const auto [first, last] = days_->Find(user, date);
  if (first == last) {
    ++skipped_;
    return {};
  }
  // The row that the interval before was of, or the first.
  std::int64_t row = first;
  for (std::int64_t later = first; later < last; ++later) {
    if (paired_[static_cast<std::size_t>(later)] > 0) row = later;
  }
  for (; row < last; ++row) {
    std::int64_t& paired = paired_[static_cast<std::size_t>(row)];
    const auto left = days_->Intervals(row).subspan(static_cast<std::size_t>(paired));
    const auto found = std::lower_bound(left.begin(), left.end(), end);
    if (found == left.end() || *found != end) continue;
    paired += found - left.begin() + 1;
    return moments_.Append({row, days_->row(row).begin + end, time});
  }
  return MakeError(ErrorCode::kBadData,
                   "{}:{}: interval_indptr {} is none of those left of user {} in {}:{}; make both "
                   "files in one run of `hstu preprocess`",
                   path, line, end, user, days_->path(), days_->row(first).line);
}

void Replay::Order() {
  const auto moments = moments_.values();
  const auto in_stream = [](const ReplayMoment& a, const ReplayMoment& b) {
    return std::tie(a.row, a.end) < std::tie(b.row, b.end);
  };
  std::sort(moments.begin(), moments.end(), in_stream);
  // Times within a user's day need not ascend: several logs, or files ordered by something else.
  for (std::size_t i = 1; i < moments.size(); ++i) {
    const UserDay& before = days_->row(moments[i - 1].row);
    const UserDay& day = days_->row(moments[i].row);
    if (before.user != day.user || before.date != day.date) continue;
    moments[i].time = std::max(moments[i].time, moments[i - 1].time);
  }
  std::sort(moments.begin(), moments.end(), [&](const ReplayMoment& a, const ReplayMoment& b) {
    const std::int64_t a_date = days_->row(a.row).date;
    const std::int64_t b_date = days_->row(b.row).date;
    return std::tie(a_date, a.time, a.row, a.end) < std::tie(b_date, b.time, b.row, b.end);
  });
}

}  // namespace hstu
