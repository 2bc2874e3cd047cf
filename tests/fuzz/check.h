// What the fuzzers' promises have in common.
#ifndef HSTU_TESTS_FUZZ_CHECK_H_
#define HSTU_TESTS_FUZZ_CHECK_H_

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

inline void Check(bool promise) {
  if (!promise) std::abort();
}

// The message of an error names the file and is UTF-8.
inline void CheckMessage(const std::string& message, std::string_view file) {
  Check(message.starts_with(file));
  (void)nlohmann::json(message).dump();  // throws where it is no UTF-8
}

#endif  // HSTU_TESTS_FUZZ_CHECK_H_
