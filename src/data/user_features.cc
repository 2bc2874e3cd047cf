#include "data/user_features.h"

#include <algorithm>

#include "base/error.h"
#include "data/csv.h"
#include "data/pandas_column.h"
#include "data/record_blocks.h"

namespace hstu {
namespace {

constexpr const char* kUserColumn = "user_id";

// Calls visit(record, line) for every record of a file that is not blank.
template <typename Visit>
Status ForEachRecord(const std::string& path, Visit visit) {
  HSTU_ASSIGN_OR_RETURN(RecordBlocks blocks, RecordBlocks::Open(path));
  RecordBlock block;
  for (;;) {
    HSTU_ASSIGN_OR_RETURN(bool more, blocks.Next(&block));
    if (!more) return {};
    std::int64_t line = block.first_line;
    for (std::string_view rest = block.text; !rest.empty();) {
      std::string_view record = rest.substr(0, RecordEnd(rest));
      rest.remove_prefix(record.size());
      if (!WithoutBlanks(WithoutLineEnd(record)).empty()) {
        if (Status status = visit(record); !status.ok()) {
          return MakeError(status.error().code, "{}:{}: {}", path, line, status.error().message);
        }
      }
      line += std::count(record.begin(), record.end(), '\n');
    }
  }
}

}  // namespace

UserFeaturesFormat KuaiRandUserFeatures() {
  return {",",
          {},
          {"user_active_degree", "follow_user_num_range", "fans_user_num_range",
           "friend_user_num_range", "register_days_range"}};
}

UserFeaturesFormat MovieLens1MUserFeatures() {
  return {"::",
          {kUserColumn, "sex", "age_group", "occupation", "zip_code"},
          {"sex", "age_group", "occupation", "zip_code"}};
}

void UserFeatures::Column::Add(std::string_view text) {
  auto next = static_cast<std::uint32_t>(distinct.size());
  auto [at, added] = index.try_emplace(std::string(text), next);
  if (added) distinct.emplace_back(text);
  value_of_row.push_back(at->second);
}

void UserFeatures::Column::Settle(bool numbered) {
  if (numbered) {
    for (std::int64_t number : NumberedByAppearance(distinct)) {
      written.push_back(std::to_string(number));
    }
  } else {
    written = AsPandasWrites(distinct);
  }
  distinct.clear();
  distinct.shrink_to_fit();
  index.clear();
}

Result<UserFeatures> UserFeatures::Load(const std::string& path, const UserFeaturesFormat& format) {
  UserFeatures features;
  if (!format.columns.empty()) {
    HSTU_RETURN_IF_ERROR(features.SetColumns(path, format.columns));
  }
  RecordSplitter splitter(format.separator);
  bool header = format.columns.empty();
  HSTU_RETURN_IF_ERROR(ForEachRecord(path, [&](std::string_view record) -> Status {
    HSTU_RETURN_IF_ERROR(splitter.Split(record));
    if (!header) return features.AddRow(splitter.fields());
    header = false;
    return features.SetColumns(path, {splitter.fields().begin(), splitter.fields().end()});
  }));
  if (header || features.row_of_user_.empty()) {
    return MakeError(ErrorCode::kBadData,
                     "{} holds no users; leave user features out if there are none", path);
  }
  for (Column& column : features.columns_) {
    column.Settle(std::find(format.numbered.begin(), format.numbered.end(), column.name) !=
                  format.numbered.end());
  }
  return features;
}

Status UserFeatures::SetColumns(const std::string& path, const std::vector<std::string>& names) {
  auto user = std::find(names.begin(), names.end(), kUserColumn);
  if (user == names.end()) {
    return MakeError(ErrorCode::kBadData, "there is no column {}, so {} can't be joined to a log",
                     kUserColumn, path);
  }
  user_column_ = static_cast<std::size_t>(user - names.begin());
  for (const std::string& name : names) {
    if (std::count(names.begin(), names.end(), name) > 1) {
      return MakeError(ErrorCode::kBadData, "column {} is there more than once, which one counts?",
                       name);
    }
    if (name != kUserColumn) columns_.emplace_back().name = name;
  }
  return {};
}

Status UserFeatures::AddRow(const std::vector<std::string_view>& fields) {
  if (fields.size() != columns_.size() + 1) {
    return MakeError(ErrorCode::kBadData, "the line has {} of {} fields{}", fields.size(),
                     columns_.size() + 1,
                     fields.size() <= columns_.size() ? "; was the file cut?" : "");
  }
  std::optional<std::int64_t> user = ParseInteger(fields[user_column_]);
  if (!user) {
    return MakeError(ErrorCode::kBadData, "{} \"{}\" is not an integer", kUserColumn,
                     fields[user_column_].substr(0, 80));
  }
  auto row = static_cast<std::int64_t>(row_of_user_.size());
  if (!row_of_user_.try_emplace(*user, row).second) {
    return MakeError(ErrorCode::kBadData, "user {} has features already, further up; keep one line",
                     *user);
  }
  for (std::size_t i = 0, column = 0; i < fields.size(); ++i) {
    if (i != user_column_) columns_[column++].Add(fields[i]);
  }
  return {};
}

std::string UserFeatures::Header() const {
  std::string header;
  for (const Column& column : columns_) {
    header += ',';
    AppendField(column.name, &header);
  }
  return header;
}

std::int64_t UserFeatures::Find(std::int64_t user) const {
  auto found = row_of_user_.find(user);
  return found == row_of_user_.end() ? -1 : found->second;
}

}  // namespace hstu
