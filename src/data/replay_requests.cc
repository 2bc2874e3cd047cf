#include "data/replay_requests.h"

#include <algorithm>

namespace hstu {

ReplayRequests::ReplayRequests(const SimulateOptions& options, const UserDays& days, bool continues)
    : options_(options), days_(days), continues_(continues), sent_(days.rows().size()) {}

std::int64_t ReplayRequests::FirstRow(const ReplayMoment& moment) const {
  return options_.days_apart ? days_.FirstRowOfDay(moment.row) : days_.row(moment.row).first_row;
}

std::int64_t ReplayRequests::HistoryTokens(const ReplayMoment& moment) const {
  const std::int64_t items = moment.end - days_.row(FirstRow(moment)).begin;
  return static_cast<std::int64_t>(options_.contextual_features.size()) +
         (options_.action_feature ? 2 : 1) * items;
}

std::int64_t ReplayRequests::CandidatesEnd(const ReplayMoment& moment) const {
  return std::min(moment.end + options_.max_num_candidates, days_.StreamItems(moment.row));
}

std::vector<std::int64_t> ReplayRequests::CandidateActions(const ReplayMoment& moment) const {
  std::vector<std::int64_t> items;
  std::vector<std::int64_t> actions;
  days_.Copy(moment.row, moment.end, CandidatesEnd(moment), &items, &actions);
  return actions;
}

Request ReplayRequests::Next(const ReplayMoment& moment) {
  const std::int64_t first_row = FirstRow(moment);
  const std::int64_t items = moment.end - days_.row(first_row).begin;
  std::int64_t& sent = sent_[static_cast<std::size_t>(first_row)];
  const std::int64_t start = std::exchange(sent, items);
  const std::int64_t new_tokens = (options_.action_feature ? 2 : 1) * (items - start);
  const bool continued = continues_ && start > 0 && new_tokens <= options_.max_history_tokens &&
                         HistoryTokens(moment) > options_.max_history_tokens;
  if (!continued) return Whole(moment);
  Request request = Make(moment, start);
  request.history_start = start;
  return request;
}

Request ReplayRequests::Whole(const ReplayMoment& moment) { return Make(moment, 0); }

Request ReplayRequests::Make(const ReplayMoment& moment, std::int64_t start) {
  Request request;
  request.user_id = std::to_string(days_.row(moment.row).user);
  const auto contextual = days_.Contextual(moment.row);
  for (std::size_t i = 0; i < contextual.size(); ++i) {
    request.contextual.emplace_back(options_.contextual_features[i], contextual[i]);
  }
  const std::int64_t begin = days_.row(FirstRow(moment)).begin;
  days_.Copy(moment.row, begin + start, moment.end, &request.items, &request.actions);
  if (!options_.action_feature) request.actions.clear();
  days_.Copy(moment.row, moment.end, CandidatesEnd(moment), &request.candidates, &unused_);
  return request;
}

}  // namespace hstu
