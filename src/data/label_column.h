// Which column of a processed file holds the labels, and what they mean.
#ifndef HSTU_DATA_LABEL_COLUMN_H_
#define HSTU_DATA_LABEL_COLUMN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "data/task_labels.h"
#include "hstu/hstu.hpp"

namespace hstu {

// The model's action column; where it has none, the one that the file has.
Result<std::string> FindLabelColumn(const std::string& path,
                                    const std::optional<std::string>& action_feature);

// What the actions in the column `name` say about `num_tasks` tasks. `positive_rating`: the least
// code of `rating` that is positive; nothing: 4 stars on the scale that the codes show. Errors
// (kBadArgument) where these don't go together.
Result<TaskLabels> ChooseLabels(const std::string& path, const std::string& name,
                                std::int64_t num_tasks,
                                const std::optional<std::int64_t>& positive_rating);

}  // namespace hstu

#endif  // HSTU_DATA_LABEL_COLUMN_H_
