// The features of users, which preprocessing joins to their sequences.
#ifndef HSTU_DATA_USER_FEATURES_H_
#define HSTU_DATA_USER_FEATURES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

struct UserFeaturesFormat {
  std::string separator;
  // Names of the columns where the file has no header, the first is the user's id; else empty.
  std::vector<std::string> columns;
  // Columns whose values are numbered from 1 in order of first appearance. The others pass through.
  std::vector<std::string> numbered;
};

UserFeaturesFormat KuaiRandUserFeatures();
UserFeaturesFormat MovieLens1MUserFeatures();

class UserFeatures {
 public:
  static Result<UserFeatures> Load(const std::string& path, const UserFeaturesFormat& format);

  // The columns but user_id, each with a comma before it.
  std::string Header() const;

  // The user's row, or -1.
  std::int64_t Find(std::int64_t user) const;

  // Gives `append` the pieces of the row's text: for every column a comma and the value.
  template <typename Append>
  void AppendRow(std::int64_t row, Append append) const {
    for (const Column& column : columns_) {
      append(std::string_view(","));
      append(std::string_view(column.written[column.value_of_row[static_cast<std::size_t>(row)]]));
    }
  }

 private:
  // Values repeat, so each is kept once.
  struct Column {
    std::string name;
    std::vector<std::uint32_t> value_of_row;
    std::vector<std::string> written;  // by value
    std::vector<std::string> distinct;
    std::unordered_map<std::string, std::uint32_t> index;

    void Add(std::string_view text);
    void Settle(bool numbered);
  };

  Status SetColumns(const std::string& path, const std::vector<std::string>& names);
  Status AddRow(const std::vector<std::string_view>& fields);

  std::size_t user_column_ = 0;
  std::vector<Column> columns_;  // without the user's id, in the file's order
  std::unordered_map<std::int64_t, std::int64_t> row_of_user_;
};

}  // namespace hstu

#endif  // HSTU_DATA_USER_FEATURES_H_
