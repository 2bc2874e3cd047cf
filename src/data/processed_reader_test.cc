#include "data/processed_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ProcessedColumns kColumns = {{"user_id", "degree"}, {"items", "actions"}};

std::string ErrorOf(const std::string& content) {
  TestFolder folder;
  auto reader = ProcessedReader::Open(folder.Write("seqs.csv", content), kColumns);
  if (!reader.ok()) return reader.error().message;
  for (ProcessedRow row;;) {
    auto more = reader->Next(&row);
    if (!more.ok()) return more.error().message;
    if (!more.value()) return "no error";
  }
}

TEST(ProcessedReader, ReadsWantedColumnsWhereverTheyStand) {
  TestFolder folder;
  std::string path = folder.Write("seqs.csv",
                                  "actions,other,degree,items,user_id\r\n"
                                  "\"[1, 65]\",x,3.0,\"[5, 9]\",17\r\n"
                                  "\n[2],\"a,\nb\",4,[ 7 ],-18\n");
  auto reader = ProcessedReader::Open(path, kColumns);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ProcessedRow row;
  ASSERT_TRUE(reader->Next(&row).value());
  EXPECT_EQ(row.line, 2);
  EXPECT_THAT(row.values, ElementsAre(17, 3));
  EXPECT_THAT(row.lists, ElementsAre(ElementsAre(5, 9), ElementsAre(1, 65)));
  ASSERT_TRUE(reader->Next(&row).value());
  EXPECT_EQ(row.line, 4);
  EXPECT_THAT(row.values, ElementsAre(-18, 4));
  EXPECT_THAT(row.lists, ElementsAre(ElementsAre(7), ElementsAre(2)));
  EXPECT_FALSE(reader->Next(&row).value());
}

TEST(ProcessedReader, NamesFileLineAndColumn) {
  const std::string header = "user_id,degree,items,actions\n1,1,[1],[1]\n";
  EXPECT_THAT(ErrorOf(""), HasSubstr("seqs.csv:1: the file is empty"));
  EXPECT_THAT(ErrorOf("user_id,items\n"), HasSubstr("seqs.csv:1: there is no column degree"));
  EXPECT_THAT(ErrorOf(header + "1,,[1],[1]\n"), HasSubstr("seqs.csv:3: degree \"\" is not an"));
  EXPECT_THAT(ErrorOf(header + "1,2.5,[1],[1]\n"), HasSubstr("seqs.csv:3: degree \"2.5\""));
  EXPECT_THAT(ErrorOf(header + "1,2,[1],[1\n"),
              HasSubstr("seqs.csv:3: actions: \"[1\" is no list"));
  EXPECT_THAT(ErrorOf(header + "1,2,[1]\n"), HasSubstr("seqs.csv:3: the line has 3 of 4 fields"));
  EXPECT_THAT(ErrorOf(header + "1,2,\"[1,\n"), HasSubstr("seqs.csv:3: a quote is opened"));
}

TEST(ParseIntegerList, RefusesWhatIsNoListOfIntegers) {
  std::vector<std::int64_t> values;
  EXPECT_TRUE(ParseIntegerList("[]", &values).ok());
  EXPECT_TRUE(values.empty());
  for (const char* bad : {"", "5", "[", "]", "[5", "[5 9]", "[5,]", "[,5]", "[5.0]", "[nan]",
                          "[99999999999999999999]"}) {
    EXPECT_FALSE(ParseIntegerList(bad, &values).ok()) << bad;
  }
  Status status = ParseIntegerList("[5, nine]", &values);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("element 2 of the list is no integer: \"nine\""));
}

}  // namespace
}  // namespace hstu
