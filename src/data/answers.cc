#include "data/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

namespace hstu {
namespace {

using nlohmann::json;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void AppendFloat(float value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";  // JSON has no NaN and no infinity
    return;
  }
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  // Without a point a reader takes it for an integer, which has no -0.
  if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
}

// "[[...], ...]": values [rows, columns] by rows, through `map`.
template <typename Map>
void AppendRows(std::span<const float> values, std::int64_t columns, Map map, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool starts_row = i % static_cast<std::size_t>(columns) == 0;
    if (starts_row) out += i == 0 ? "[" : "], [";
    if (!starts_row) out += ", ";
    AppendFloat(map(values[i]), out);
  }
  out += values.empty() ? "]" : "]]";
}

float Sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
}

// Of each task the best candidates first; the earlier one where two are equal.
void AppendTopK(const Answer& answer, std::span<const std::int64_t> candidates, int top_k,
                std::string& out) {
  std::vector<std::size_t> order(candidates.size());
  const std::size_t count = std::min(order.size(), static_cast<std::size_t>(top_k));
  out += '[';
  for (std::int64_t task = 0; task < answer.num_tasks; ++task) {
    const auto logit = [&](std::size_t i) { return answer.logits[i * answer.num_tasks + task]; };
    const auto key = [&](std::size_t i) { return std::isnan(logit(i)) ? -INFINITY : logit(i); };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(
        order.begin(), order.begin() + count, order.end(),
        [&](std::size_t a, std::size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
    out += task == 0 ? "[" : ", [";
    for (std::size_t i = 0; i < count; ++i) {
      fmt::format_to(std::back_inserter(out),
                     "{}{{\"candidate\": {}, \"logit\": ", i == 0 ? "" : ", ",
                     candidates[order[i]]);
      AppendFloat(logit(order[i]), out);
      out += '}';
    }
    out += ']';
  }
  out += ']';
}

}  // namespace

std::string FormatAnswer(const json& user_id, const Answer& answer,
                         std::span<const std::int64_t> candidates, const AnswerFormat& format) {
  if (answer.error) return FormatError(user_id, *answer.error);
  std::string out = fmt::format("{{\"user_id\": {}, \"logits\": ", Dump(user_id));
  AppendRows(
      answer.logits, answer.num_tasks, [](float x) { return x; }, out);
  if (format.probabilities) {
    out += ", \"probabilities\": ";
    AppendRows(answer.logits, answer.num_tasks, Sigmoid, out);
  }
  if (format.top_k > 0) {
    out += ", \"top_k\": ";
    AppendTopK(answer, candidates, format.top_k, out);
  }
  fmt::format_to(std::back_inserter(out), ", \"history_items\": {}, \"cached_tokens\": {}",
                 answer.history_items, answer.cached_tokens);
  if (answer.evicted_tokens > 0) {
    fmt::format_to(std::back_inserter(out), ", \"evicted_tokens\": {}", answer.evicted_tokens);
  }
  return out + "}";
}

std::string FormatError(const json& user_id, const Error& error) {
  return fmt::format("{{\"user_id\": {}, \"error\": {{\"code\": \"{}\", \"message\": {}}}}}",
                     Dump(user_id), ErrorName(error.code), Dump(error.message));
}

}  // namespace hstu
