#include "data/task_labels.h"

#include <fmt/format.h>

namespace hstu {

std::vector<std::string> TaskLabels::DefaultNames() const {
  if (least_rating_ >= 0) return {fmt::format("rating_code_at_least_{}", least_rating_)};
  if (num_tasks_ == 8) {
    return {"click", "like", "follow", "comment", "forward", "hate", "long_view", "profile_enter"};
  }
  std::vector<std::string> names;
  for (std::int64_t task = 0; task < num_tasks_; ++task) {
    names.push_back(fmt::format("task_{}", task));
  }
  return names;
}

std::int64_t FourStars(std::int64_t highest_code) {
  constexpr std::int64_t kFiveWholeStars = 4;
  return highest_code <= kFiveWholeStars ? 3 : 7;
}

}  // namespace hstu
