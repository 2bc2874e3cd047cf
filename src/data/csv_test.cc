#include "data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.h"
#include "data/record_blocks.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Split(std::string_view record, const char* separator = ",") {
  RecordSplitter splitter(separator);
  Status status = splitter.Split(record);
  if (!status.ok()) return {"error: " + status.error().message};
  return {splitter.fields().begin(), splitter.fields().end()};
}

TEST(RecordSplitter, SplitsPlainRecordsAndDropsLineEnds) {
  EXPECT_THAT(Split("a,,c\n"), ElementsAre("a", "", "c"));
  EXPECT_THAT(Split("a,b\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(Split("1::F::1", "::"), ElementsAre("1", "F", "1"));
  EXPECT_THAT(Split(""), ElementsAre(""));
}

TEST(RecordSplitter, UndoesQuotes) {
  EXPECT_THAT(Split("\"a,b\",c\n"), ElementsAre("a,b", "c"));
  EXPECT_THAT(Split("\"say \"\"hi\"\"\",\"\"\n"), ElementsAre("say \"hi\"", ""));
  EXPECT_THAT(Split("\"two\nlines\",x\r\n"), ElementsAre("two\nlines", "x"));
  EXPECT_THAT(Split("5\" disk,x"), ElementsAre("5\" disk", "x"));
  EXPECT_THAT(Split("\"a\","), ElementsAre("a", ""));
}

TEST(RecordSplitter, RefusesBrokenQuotes) {
  EXPECT_THAT(Split("a,\"b")[0], HasSubstr("field 2 opens a quote"));
  EXPECT_THAT(Split("\"a\"b,c")[0], HasSubstr("field 1 goes on after its closing quote"));
}

TEST(ParseInteger, TakesWhatIsWholeAndFits) {
  EXPECT_EQ(ParseInteger("12"), 12);
  EXPECT_EQ(ParseInteger(" +12 "), 12);
  EXPECT_EQ(ParseInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInteger("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseInteger("12.0"), std::nullopt);
  EXPECT_EQ(ParseInteger("+-1"), std::nullopt);
  EXPECT_EQ(ParseInteger(""), std::nullopt);
  EXPECT_EQ(ParseInteger("1x"), std::nullopt);
}

TEST(AppendField, QuotesOnlyWhatNeedsIt) {
  std::string text;
  AppendField("500+", &text);
  AppendField(" [1,5) ", &text);
  AppendField("a\"b", &text);
  EXPECT_EQ(text, "500+\" [1,5) \"\"a\"\"b\"");
}

std::string AllBlocks(const std::string& path, const RecordBlockLimits& limits) {
  auto blocks = RecordBlocks::Open(path, limits);
  if (!blocks.ok()) return blocks.error().message;
  std::string seen;
  for (RecordBlock block;;) {
    auto more = blocks->Next(&block);
    if (!more.ok()) return more.error().message;
    if (!more.value()) return seen;
    seen += "[" + std::to_string(block.first_line) + "|" + std::string(block.text) + "]";
  }
}

TEST(RecordBlocks, HoldWholeRecordsAndCountLines) {
  TestFolder folder;
  std::string path = folder.Write("a", "one\ntwo\nthree");
  EXPECT_EQ(AllBlocks(path, {.block_bytes = 10, .max_record_bytes = 100}),
            "[1|one\ntwo\n][3|three\n]");
  EXPECT_EQ(AllBlocks(path, {.block_bytes = 2, .max_record_bytes = 100}),
            "[1|one\n][2|two\n][3|three\n]");
}

TEST(RecordBlocks, KeepQuotedLineEndsTogether) {
  TestFolder folder;
  std::string path = folder.Write("a", "\"x\ny\"\nz\n");
  EXPECT_EQ(AllBlocks(path, {.block_bytes = 7, .max_record_bytes = 100}), "[1|\"x\ny\"\n][3|z\n]");
}

TEST(RecordBlocks, RefuseAQuoteThatNeverCloses) {
  TestFolder folder;
  std::string path = folder.Write("a", "fine\n\"x\ny\nz\n");
  EXPECT_THAT(AllBlocks(path, {.block_bytes = 8, .max_record_bytes = 100}),
              HasSubstr("a:2: a quote is opened and never closed"));
  EXPECT_THAT(AllBlocks(path, {.block_bytes = 6, .max_record_bytes = 6}),
              HasSubstr("a:2: the line is longer than 6 bytes"));
}

TEST(RecordBlocks, SkipAByteOrderMarkAndAcceptNothing) {
  TestFolder folder;
  EXPECT_EQ(AllBlocks(folder.Write("a", "\xef\xbb\xbfx\n"), {}), "[1|x\n]");
  EXPECT_EQ(AllBlocks(folder.Write("b", ""), {}), "");
}

}  // namespace
}  // namespace hstu
