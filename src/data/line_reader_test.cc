#include "data/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace hstu {
namespace {

std::vector<std::string> LinesOf(const std::string& text, std::size_t max_line_bytes = 1 << 20) {
  const std::string path = testing::TempDir() + "line_reader";
  std::ofstream(path, std::ios::binary) << text;
  Result<LineReader> opened = LineReader::Open(path, max_line_bytes);
  EXPECT_TRUE(opened.ok());
  LineReader reader = std::move(opened).value();
  std::vector<std::string> lines;
  while (true) {
    const auto line = reader.Next();
    EXPECT_TRUE(line.ok());
    if (!line.value()) return lines;
    lines.emplace_back(line.value()->text);
    EXPECT_EQ(line.value()->number, static_cast<std::int64_t>(lines.size()));
  }
}

TEST(LineReader, SplitsAtLineEndsAndTheLastNeedsNone) {
  EXPECT_THAT(LinesOf(""), testing::IsEmpty());
  EXPECT_THAT(LinesOf("a\n\nb"), testing::ElementsAre("a", "", "b"));
  EXPECT_THAT(LinesOf("a\nb\n"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(LinesOf("\n"), testing::ElementsAre(""));
}

TEST(LineReader, LinesAcrossReadsStayWhole) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    expected.push_back(std::string(i * 7, static_cast<char>('a' + i % 26)));
    text += expected.back() + "\n";
  }
  expected.push_back(std::string(300'000, 'z'));
  EXPECT_EQ(LinesOf(text + expected.back()), expected);
}

TEST(LineReader, OfALongLineOneByteTooManyIsKept) {
  const std::string longer(200'000, 'x');
  EXPECT_THAT(LinesOf(longer + "\nab\n" + longer + "\nc\n" + longer, 3),
              testing::ElementsAre("xxxx", "ab", "xxxx", "c", "xxxx"));
}

TEST(LineReader, WhatCannotBeReadIsNamed) {
  for (const std::string& path : {testing::TempDir() + "no_such_file", testing::TempDir()}) {
    const Result<LineReader> reader = LineReader::Open(path, 10);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, ErrorCode::kIo);
    EXPECT_THAT(reader.error().message, testing::HasSubstr(path));
  }
}

}  // namespace
}  // namespace hstu
