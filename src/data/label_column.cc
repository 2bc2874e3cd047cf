#include "data/label_column.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "data/processed_reader.h"

namespace hstu {
namespace {

Result<std::int64_t> HighestAction(const std::string& path, const std::string& name) {
  ProcessedColumns columns;
  columns.lists = {name};
  HSTU_ASSIGN_OR_RETURN(ProcessedReader reader, ProcessedReader::Open(path, columns));
  std::int64_t highest = 0;
  for (ProcessedRow row;;) {
    HSTU_ASSIGN_OR_RETURN(bool more, reader.Next(&row));
    if (!more) return highest;
    for (std::int64_t action : row.lists[0]) highest = std::max(highest, action);
  }
}

}  // namespace

Result<std::string> FindLabelColumn(const std::string& path,
                                    const std::optional<std::string>& action_feature) {
  if (action_feature) return *action_feature;
  HSTU_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadColumnNames(path));
  for (const char* known : {"action_weights", kRatingColumn}) {
    if (std::find(names.begin(), names.end(), known) != names.end()) return std::string(known);
  }
  return MakeError(ErrorCode::kBadData,
                   "{}:1: there is neither a column action_weights nor {}, which hold the labels",
                   path, kRatingColumn);
}

Result<TaskLabels> ChooseLabels(const std::string& path, const std::string& name,
                                std::int64_t num_tasks,
                                const std::optional<std::int64_t>& positive_rating) {
  if (name != kRatingColumn) {
    if (positive_rating) {
      return MakeError(ErrorCode::kBadArgument,
                       "--positive-rating goes with a column {}, the actions here are {}",
                       kRatingColumn, name);
    }
    if (num_tasks > 63) {
      return MakeError(ErrorCode::kBadArgument, "the model has {} tasks, actions have 63 bits",
                       num_tasks);
    }
    return TaskLabels::OfBits(num_tasks);
  }
  if (num_tasks != 1) {
    return MakeError(ErrorCode::kBadArgument,
                     "the model has {} outputs, but a rating makes one task; evaluate a model "
                     "whose prediction_head_arch ends in 1",
                     num_tasks);
  }
  if (positive_rating) return TaskLabels::OfRating(*positive_rating);
  HSTU_ASSIGN_OR_RETURN(std::int64_t highest, HighestAction(path, name));
  return TaskLabels::OfRating(FourStars(highest));
}

}  // namespace hstu
