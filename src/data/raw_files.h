// Finds the files of a dataset in what its archive unpacks to.
#ifndef HSTU_DATA_RAW_FILES_H_
#define HSTU_DATA_RAW_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"

namespace hstu {

enum class RawDataset {
  kKuaiRand,
  kKuaiRandPure,
  kKuaiRand1K,
  kKuaiRand27K,
  kMovieLens1M,
  kMovieLens20M
};

// The names that `--dataset` takes.
const std::vector<std::pair<std::string, RawDataset>>& RawDatasetNames();

struct RawFiles {
  std::vector<std::string> logs;  // in the order in which the dataset splits time
  std::optional<std::string> user_features;
};

// `folder` holds the archive's folder (KuaiRand-1K/data/..., ml-1m/...), its data folder or the
// files themselves, each as it is or with .gz or .zst. kKuaiRand takes all logs of the folder
// (log_standard*, else log*) by name, and its user_features* if there is one.
Result<RawFiles> FindRawFiles(RawDataset dataset, const std::string& folder);

}  // namespace hstu

#endif  // HSTU_DATA_RAW_FILES_H_
