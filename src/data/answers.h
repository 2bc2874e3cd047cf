// Answers as JSON Lines. docs/requests.md describes them.
#ifndef HSTU_DATA_ANSWERS_H_
#define HSTU_DATA_ANSWERS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "hstu/hstu.hpp"

namespace hstu {

// What an answer shows beside the logits.
struct AnswerFormat {
  int top_k = 0;               // the best candidates of each task
  bool probabilities = false;  // sigmoid of the logits
};

// One line without its end. Floats have the digits that read the same float back; null where a
// broken model gave none.
std::string FormatAnswer(const nlohmann::json& user_id, const Answer& answer,
                         std::span<const std::int64_t> candidates, const AnswerFormat& format = {});
std::string FormatError(const nlohmann::json& user_id, const Error& error);

}  // namespace hstu

#endif  // HSTU_DATA_ANSWERS_H_
