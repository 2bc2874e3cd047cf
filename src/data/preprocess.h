// Turns the logs of a dataset into the processed CSV files: what `hstu preprocess` does.
#ifndef HSTU_DATA_PREPROCESS_H_
#define HSTU_DATA_PREPROCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/interaction_runs.h"
#include "data/raw_files.h"
#include "hstu/hstu.hpp"

namespace hstu {

struct PreprocessOptions {
  RawDataset dataset = RawDataset::kKuaiRand;
  std::string data_dir;                      // may be empty where `logs` are given
  std::vector<std::string> logs;             // instead of those in data_dir; kKuaiRand only
  std::optional<std::string> user_features;  // instead of those in data_dir; kKuaiRand only
  std::string out_dir;                       // empty: where the first log is
  bool training = true;
  bool inference = true;
  std::int64_t batch_interval = 60;  // seconds
  // MovieLens inference files as recsys-examples writes them: a user's items by movie id.
  bool order_by_item = false;
  int threads = 2;
  RunLimits limits;  // its spill_folder is out_dir if empty
};

struct PreprocessReport {
  struct File {
    std::string path;
    std::int64_t rows = 0;
  };
  std::vector<File> files;
  std::int64_t interactions = 0;
};

// All files appear whole, after the last of them was written, or none does.
Result<PreprocessReport> Preprocess(const PreprocessOptions& options);

}  // namespace hstu

#endif  // HSTU_DATA_PREPROCESS_H_
