#include "data/text_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hstu {
namespace {

std::string Written(std::int64_t value) {
  char text[kMaxIntegerText];
  return {text, WriteInteger(value, text)};
}

TEST(WriteInteger, WritesWhatToStringWrites) {
  std::mt19937_64 random(1);
  for (std::int64_t value : {std::int64_t{0}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(Written(value), std::to_string(value));
  }
  std::int64_t power = 1;
  for (int digits = 1; digits < 19; ++digits, power *= 10) {
    for (std::int64_t value : {power - 1, power, power + 1, -power, 1 - power}) {
      EXPECT_EQ(Written(value), std::to_string(value));
    }
  }
  for (int i = 0; i < 100000; ++i) {
    auto value = static_cast<std::int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(Written(value), std::to_string(value));
  }
}

TEST(TextBuffer, QuotesListsOfSeveral) {
  TextBuffer text;
  auto same = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  text.AppendList(0, same);
  text.AppendList(1, same);
  text.AppendList(3, same);
  text.Append(",");
  text.Append(-7);
  EXPECT_EQ(text.view(), "[][0]\"[0, 1, 2]\",-7");
  text.Clear();
  EXPECT_EQ(text.view(), "");
}

}  // namespace
}  // namespace hstu
