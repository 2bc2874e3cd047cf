// How much a test repeats itself.
#ifndef HSTU_BASE_TEST_ROUNDS_H_
#define HSTU_BASE_TEST_ROUNDS_H_

#include <algorithm>
#include <cstdlib>

namespace hstu {

// How often a randomised test repeats itself: `usual`, or less where HSTU_TEST_ROUNDS says so.
inline int Rounds(int usual) {
  const char* limit = std::getenv("HSTU_TEST_ROUNDS");
  return limit == nullptr ? usual : std::min(usual, std::atoi(limit));
}

// A sanitized build, in which the scalar target takes minutes.
inline bool IsSlowBuild() { return std::getenv("HSTU_TEST_ROUNDS") != nullptr; }

}  // namespace hstu

#endif  // HSTU_BASE_TEST_ROUNDS_H_
