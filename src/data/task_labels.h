// What an action says about every task.
#ifndef HSTU_DATA_TASK_LABELS_H_
#define HSTU_DATA_TASK_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hstu {

// The column of ratings; any other action column holds bits.
inline constexpr const char* kRatingColumn = "rating";

class TaskLabels {
 public:
  // Bit t of an action is task t.
  static TaskLabels OfBits(std::int64_t num_tasks) { return TaskLabels(num_tasks, -1); }
  // One task: a rating of at least this code.
  static TaskLabels OfRating(std::int64_t least) { return TaskLabels(1, least); }

  std::int64_t num_tasks() const { return num_tasks_; }
  bool Positive(std::int64_t action, std::int64_t task) const {
    return least_rating_ < 0 ? (action >> task & 1) != 0 : action >= least_rating_;
  }

  std::vector<std::string> DefaultNames() const;

 private:
  TaskLabels(std::int64_t num_tasks, std::int64_t least_rating)
      : num_tasks_(num_tasks), least_rating_(least_rating) {}

  std::int64_t num_tasks_;
  std::int64_t least_rating_;  // negative: bits
};

// The code of 4 stars on the scale of whole (0 to 4) or half stars (0 to 9), told by the highest
// code that is in use.
std::int64_t FourStars(std::int64_t highest_code);

}  // namespace hstu

#endif  // HSTU_DATA_TASK_LABELS_H_
