#include "engine/wire.h"

#include <cstdint>

namespace hstu {
namespace {

using Ids = std::vector<std::int64_t>;

void PutRequest(const Request& request, WireWriter* out) {
  out->Put(request.user_id.has_value());
  out->PutList(request.user_id.value_or(""));
  out->Put(request.contextual.size());
  for (const auto& [feature, id] : request.contextual) {
    out->PutList(feature);
    out->Put(id);
  }
  out->PutList(request.items);
  out->PutList(request.actions);
  out->Put(request.history_start.has_value());
  out->Put(request.history_start.value_or(0));
  out->PutList(request.candidates);
}

Request GetRequest(WireReader* in) {
  Request request;
  const bool has_user = in->Get<bool>();
  auto user_id = in->GetList<std::string>();
  if (has_user) request.user_id = std::move(user_id);
  for (size_t left = in->Get<size_t>(); left > 0; --left) {
    auto feature = in->GetList<std::string>();
    request.contextual.emplace_back(std::move(feature), in->Get<std::int64_t>());
  }
  request.items = in->GetList<Ids>();
  request.actions = in->GetList<Ids>();
  const bool has_start = in->Get<bool>();
  const auto start = in->Get<std::int64_t>();
  if (has_start) request.history_start = start;
  request.candidates = in->GetList<Ids>();
  return request;
}

}  // namespace

void PutRequests(std::span<const Request> requests, WireWriter* out) {
  out->Put(requests.size());
  for (const Request& request : requests) PutRequest(request, out);
}

std::vector<Request> GetRequests(WireReader* in) {
  std::vector<Request> requests(in->Get<size_t>());
  for (Request& request : requests) request = GetRequest(in);
  return requests;
}

void PutAnswer(const Answer& answer, WireWriter* out) {
  out->Put(answer.error.has_value());
  if (answer.error) {
    out->Put(answer.error->code);
    out->PutList(answer.error->message);
  }
  out->Put(answer.num_tasks);
  out->PutList(answer.logits);
  out->Put(answer.history_items);
  out->Put(answer.cached_tokens);
  out->Put(answer.evicted_tokens);
}

Answer GetAnswer(WireReader* in) {
  Answer answer;
  if (in->Get<bool>()) {
    const auto code = in->Get<ErrorCode>();
    answer.error = Error{code, in->GetList<std::string>()};
  }
  answer.num_tasks = in->Get<std::int64_t>();
  answer.logits = in->GetList<std::vector<float>>();
  answer.history_items = in->Get<std::int64_t>();
  answer.cached_tokens = in->Get<std::int64_t>();
  answer.evicted_tokens = in->Get<std::int64_t>();
  return answer;
}

}  // namespace hstu
