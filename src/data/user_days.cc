#include "data/user_days.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/progress.h"

namespace hstu {
namespace {

constexpr const char* kUserColumn = "user_id";
constexpr const char* kDateColumn = "date";
constexpr const char* kIntervalsColumn = "interval_indptr";

// `bounds` as a row of `items` items must have them: 0, ascending, the number of items.
Status CheckBounds(const std::vector<std::int64_t>& bounds, std::int64_t items) {
  const bool ascending =
      std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
  if (ascending && !bounds.empty() && bounds.front() == 0 && bounds.back() == items) return {};
  return MakeError(ErrorCode::kBadData, "{} must ascend from 0 to the {} items of the row",
                   kIntervalsColumn, items);
}

}  // namespace

UserDays::UserDays(std::string path, bool has_dates, std::size_t num_contextual,
                   ScratchList<Event> events, ScratchList<std::int64_t> intervals)
    : path_(std::move(path)),
      has_dates_(has_dates),
      num_contextual_(num_contextual),
      events_(std::move(events)),
      intervals_(std::move(intervals)) {}

Result<UserDays> UserDays::Open(const std::string& path, const UserDaysColumns& columns) {
  HSTU_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadColumnNames(path));
  const bool has_dates = std::find(names.begin(), names.end(), kDateColumn) != names.end();
  HSTU_ASSIGN_OR_RETURN(auto events, ScratchList<Event>::Create());
  HSTU_ASSIGN_OR_RETURN(auto intervals, ScratchList<std::int64_t>::Create());
  UserDays days(path, has_dates, columns.contextual.size(), std::move(events),
                std::move(intervals));
  HSTU_RETURN_IF_ERROR(days.Read(columns));
  HSTU_RETURN_IF_ERROR(days.events_.Map());
  HSTU_RETURN_IF_ERROR(days.intervals_.Map());
  days.OrderRows();
  return days;
}

Status UserDays::Read(const UserDaysColumns& columns) {
  ProcessedColumns wanted;
  wanted.values = {kUserColumn};
  if (has_dates_) wanted.values.emplace_back(kDateColumn);
  wanted.values.insert(wanted.values.end(), columns.contextual.begin(), columns.contextual.end());
  wanted.lists = {columns.items, kIntervalsColumn};
  if (columns.actions) wanted.lists.push_back(*columns.actions);
  HSTU_ASSIGN_OR_RETURN(ProcessedReader reader, ProcessedReader::Open(path_, wanted));
  Progress progress("reading " + path_, 0, "rows");
  for (ProcessedRow row;;) {
    HSTU_ASSIGN_OR_RETURN(const bool more, reader.Next(&row));
    if (!more) return {};
    if (const Status status = Add(row, columns.actions.has_value()); !status.ok()) {
      return MakeError(status.error().code, "{}:{}: {}", path_, row.line, status.error().message);
    }
    progress.Update(static_cast<std::int64_t>(rows_.size()));
  }
}

Status UserDays::Add(const ProcessedRow& row, bool has_actions) {
  const std::vector<std::int64_t>& items = row.lists[0];
  const std::vector<std::int64_t>& bounds = row.lists[1];
  if (has_actions && row.lists[2].size() != items.size()) {
    return MakeError(ErrorCode::kBadData, "the row has {} items and {} actions", items.size(),
                     row.lists[2].size());
  }
  HSTU_RETURN_IF_ERROR(CheckBounds(bounds, static_cast<std::int64_t>(items.size())));
  UserDay day;
  day.user = row.values[0];
  if (has_dates_) day.date = row.values[1];
  day.line = row.line;
  day.end = static_cast<std::int64_t>(items.size());
  day.file_row = static_cast<std::int64_t>(rows_.size());
  day.first_item = events_.size();
  day.first_interval = intervals_.size();
  day.num_intervals = static_cast<std::int64_t>(bounds.size()) - 1;
  rows_.push_back(day);
  contextual_.insert(contextual_.end(),
                     row.values.end() - static_cast<std::ptrdiff_t>(num_contextual_),
                     row.values.end());
  for (std::size_t i = 0; i < items.size(); ++i) {
    HSTU_RETURN_IF_ERROR(events_.Append({items[i], has_actions ? row.lists[2][i] : 0}));
  }
  return intervals_.Append(std::span(bounds).subspan(1));
}

// Sorts the rows and places them in their users' streams.
void UserDays::OrderRows() {
  std::sort(rows_.begin(), rows_.end(), [](const UserDay& a, const UserDay& b) {
    return std::tie(a.user, a.date, a.file_row) < std::tie(b.user, b.date, b.file_row);
  });
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    UserDay& day = rows_[i];
    if (i > 0 && rows_[i - 1].user == day.user) {
      day.first_row = rows_[i - 1].first_row;
      day.begin = rows_[i - 1].end;
      day.end += day.begin;
    } else {
      day.first_row = static_cast<std::int64_t>(i);
      ++num_users_;
    }
  }
}

std::pair<std::int64_t, std::int64_t> UserDays::Find(std::int64_t user, std::int64_t date) const {
  struct Key {
    std::int64_t user;
    std::int64_t date;
  };
  const auto range = std::equal_range(rows_.begin(), rows_.end(), Key{user, date},
                                      [](const auto& a, const auto& b) {
                                        return std::tie(a.user, a.date) < std::tie(b.user, b.date);
                                      });
  return {range.first - rows_.begin(), range.second - rows_.begin()};
}

std::int64_t UserDays::FirstRowOfDay(std::int64_t row) const {
  return has_dates_ ? Find(this->row(row).user, this->row(row).date).first : row;
}

std::int64_t UserDays::StreamItems(std::int64_t row) const {
  const std::int64_t first = this->row(row).first_row;
  const auto end = std::partition_point(
      rows_.begin() + first, rows_.end(),
      [user = this->row(row).user](const UserDay& day) { return day.user == user; });
  return std::prev(end)->end;
}

std::span<const std::int64_t> UserDays::Intervals(std::int64_t row) const {
  const UserDay& day = this->row(row);
  return intervals_.values().subspan(static_cast<std::size_t>(day.first_interval),
                                     static_cast<std::size_t>(day.num_intervals));
}

std::span<const std::int64_t> UserDays::Contextual(std::int64_t row) const {
  return std::span(contextual_)
      .subspan(static_cast<std::size_t>(this->row(row).file_row) * num_contextual_,
               num_contextual_);
}

void UserDays::Copy(std::int64_t row, std::int64_t begin, std::int64_t end,
                    std::vector<std::int64_t>* items, std::vector<std::int64_t>* actions) const {
  items->clear();
  actions->clear();
  for (std::int64_t at = this->row(row).first_row; begin < end; ++at) {
    const UserDay& day = this->row(at);
    if (day.end <= begin) continue;
    const std::int64_t until = std::min(end, day.end);
    const auto events =
        events_.values().subspan(static_cast<std::size_t>(day.first_item + begin - day.begin),
                                 static_cast<std::size_t>(until - begin));
    for (const Event& event : events) {
      items->push_back(event.item);
      actions->push_back(event.action);
    }
    begin = until;
  }
}

}  // namespace hstu
