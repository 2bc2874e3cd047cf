// How many history tokens the cache would keep of each user of some requests, or of processed data.
#ifndef HSTU_CLI_HISTORY_LENGTHS_H_
#define HSTU_CLI_HISTORY_LENGTHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hstu/hstu.hpp"
#include "model/weights.h"

namespace hstu {

// `requests`: JSON Lines, each as a user of its own; bad ones don't count. `data`: a folder with
// processed_seqs_inference.csv, of each user all days. Either may be empty. Errors name file and
// line.
Result<std::vector<std::int64_t>> HistoryLengths(const ModelFiles& model,
                                                 const EngineOptions& options,
                                                 const std::string& requests,
                                                 const std::string& data);

}  // namespace hstu

#endif  // HSTU_CLI_HISTORY_LENGTHS_H_
