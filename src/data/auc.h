// Area under the ROC curve: the chance that a positive scores higher than a negative, equal scores
// counted half. Exact.
#ifndef HSTU_DATA_AUC_H_
#define HSTU_DATA_AUC_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace hstu {

struct Auc {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::optional<double> value;  // nothing where one class is missing
  // 95 % confidence interval by DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two
  // or more correlated receiver operating characteristic curves", Biometrics 44 (1988). Nothing
  // where a class has fewer than two members.
  std::optional<double> low;
  std::optional<double> high;
};

// Of many scores; 4 bytes each.
class ScoreAuc {
 public:
  // NaN can't be ordered: the caller keeps it out.
  void Add(float score, bool positive) { (positive ? positives_ : negatives_).push_back(score); }

  // Sorts what was added, which costs no memory.
  Auc Compute();

 private:
  // Scores of a class apart need no label; a deque grows without copying or reserving twice.
  std::deque<float> positives_;
  std::deque<float> negatives_;
};

// Of scores that are counts, of which few differ; memory for those that do.
class CountAuc {
 public:
  void Add(std::int64_t score, bool positive);
  Auc Compute() const;

 private:
  struct Group {
    std::int64_t positives = 0;
    std::int64_t negatives = 0;
  };
  std::map<std::int64_t, Group> groups_;
};

}  // namespace hstu

#endif  // HSTU_DATA_AUC_H_
