#include "cli/history_lengths.h"

#include "base/error.h"
#include "cli/request_file.h"
#include "data/user_days.h"
#include "kernels/stages.h"
#include "model/user_tokens.h"

namespace hstu {
namespace {

Status AddRequests(const ModelFiles& model, const EngineOptions& options, const std::string& path,
                   std::vector<std::int64_t>* lengths) {
  HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests, ReadRequests(path));
  for (const Request& request : requests) {
    const Result<UserTokens> user = ResolveTokens(model, request, options.disable_context);
    if (user.ok()) lengths->push_back(user->history_tokens());  // others are answered by an error
  }
  return {};
}

Status AddData(const ModelConfig& config, const EngineOptions& options, const std::string& folder,
               std::vector<std::int64_t>* lengths) {
  HSTU_ASSIGN_OR_RETURN(const UserDays days,
                        UserDays::Open(folder + "/processed_seqs_inference.csv",
                                       {config.item_feature, std::nullopt, {}}));
  const std::int64_t context =
      options.disable_context ? 0 : static_cast<std::int64_t>(config.contextual_features.size());
  const auto rows = static_cast<std::int64_t>(days.rows().size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool is_last = row + 1 == rows || days.row(row + 1).user != days.row(row).user;
    if (is_last) lengths->push_back(context + days.StreamItems(row) * config.tokens_per_item());
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> HistoryLengths(const ModelFiles& model,
                                                 const EngineOptions& options,
                                                 const std::string& requests,
                                                 const std::string& data) {
  const ModelConfig& config = model.config();
  std::vector<std::int64_t> lengths;
  if (!requests.empty()) {
    HSTU_RETURN_IF_ERROR(AddRequests(model, options, requests, &lengths));
  }
  if (!data.empty()) HSTU_RETURN_IF_ERROR(AddData(config, options, data, &lengths));
  const std::int64_t unit = EvictionUnit(config.stages, options.page_size);
  for (std::int64_t& length : lengths) {
    length -= TokensToDrop(length, config.max_history_tokens, unit);
  }
  return lengths;
}

}  // namespace hstu
