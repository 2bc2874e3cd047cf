// A line of requests: any bytes give a request or an error, and its answer is one line of JSON.
#include <cstdint>
#include <string>

#include "data/answers.h"
#include "data/requests.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const hstu::ParsedRequest parsed = hstu::ParseRequest(line, 7);
  std::string answer;
  if (parsed.request.ok()) {
    const hstu::Request& request = parsed.request.value();
    Check(request.actions.empty() || request.actions.size() == request.items.size());
    Check(request.history_start.value_or(0) >= 0);
    Check(request.user_id.has_value() == !parsed.user_id.is_null());
    hstu::Answer scores;
    scores.num_tasks = 2;
    scores.logits.resize(2 * request.candidates.size(), 0.5f);
    answer = hstu::FormatAnswer(parsed.user_id, scores, request.candidates,
                                {.top_k = 2, .probabilities = true});
  } else {
    Check(parsed.request.error().message.starts_with("line 7: "));
    answer = hstu::FormatError(parsed.user_id, parsed.request.error());
  }
  Check(answer.find('\n') == answer.npos);
  const nlohmann::json read = nlohmann::json::parse(answer);  // throws where it is no JSON
  Check(read.at("user_id") == parsed.user_id);
  return 0;
}
