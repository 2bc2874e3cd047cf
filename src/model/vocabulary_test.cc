#include "model/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hstu {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view text, std::int64_t num_rows = 100) {
  const Result<Vocabulary> vocabulary = Vocabulary::Parse(text, "m/ids.txt", num_rows);
  return vocabulary.ok() ? "no error" : vocabulary.error().message;
}

TEST(Vocabulary, LineNumbersAreRows) {
  for (const char* text : {"12\n-7\n0\n9223372036854775807\n", "12\n-7\n0\n9223372036854775807",
                           "12\r\n-7\r\n0\r\n9223372036854775807\r\n"}) {
    const Result<Vocabulary> vocabulary = Vocabulary::Parse(text, "ids", 4);
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
    EXPECT_EQ(vocabulary->Find(12), 0);
    EXPECT_EQ(vocabulary->Find(-7), 1);
    EXPECT_EQ(vocabulary->Find(0), 2);
    EXPECT_EQ(vocabulary->Find(INT64_MAX), 3);
    EXPECT_EQ(vocabulary->Find(1), std::nullopt);
    EXPECT_THAT(vocabulary->ids(), testing::ElementsAre(12, -7, 0, INT64_MAX));
  }
}

TEST(Vocabulary, AnEmptyFileKnowsNoId) {
  const Result<Vocabulary> vocabulary = Vocabulary::Parse("", "ids", 4);
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->Find(0), std::nullopt);
}

TEST(Vocabulary, FindsEveryIdOfMany) {
  std::string text;
  for (int row = 0; row < 20000; ++row) text += std::to_string(row * std::int64_t{4096}) + "\n";
  const Result<Vocabulary> vocabulary = Vocabulary::Parse(text, "ids", 20000);
  ASSERT_TRUE(vocabulary.ok());
  for (int row = 0; row < 20000; ++row) {
    ASSERT_EQ(vocabulary->Find(row * std::int64_t{4096}), row);
    ASSERT_EQ(vocabulary->Find(row * std::int64_t{4096} + 1), std::nullopt);
  }
}

TEST(Vocabulary, JunkIsRefusedWithItsLine) {
  for (const char* line : {"", " 5", "5 ", "+5", "5.0", "0x5", "video", "9223372036854775808"}) {
    EXPECT_THAT(ErrorOf(std::string("1\n") + line + "\n2\n"),
                HasSubstr("m/ids.txt:2: \"" + std::string(line) + "\" is no decimal integer"));
  }
}

TEST(Vocabulary, AnIdGivenTwiceIsRefusedWithBothLines) {
  EXPECT_THAT(ErrorOf("4\n5\n6\n5\n"), HasSubstr("m/ids.txt:4: id 5 is on line 2 already"));
}

TEST(Vocabulary, MoreLinesThanRowsAreRefused) {
  EXPECT_EQ(ErrorOf("1\n2\n3\n", 3), "no error");
  EXPECT_THAT(ErrorOf("1\n2\n3\n4\n", 3), HasSubstr("m/ids.txt:4: the table has 3 rows"));
}

}  // namespace
}  // namespace hstu
