#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "base/test_files.h"

namespace hstu {
namespace {

TEST(AtomicFile, IsNotThereBeforeItIsCommitted) {
  TestFolder folder;
  auto file = AtomicFile::Create(folder / "out.csv");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("half").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "out.csv"));
  ASSERT_TRUE(file->Write(" and half").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadWholeFile(folder / "out.csv"), "half and half");
  EXPECT_EQ(folder.CountFiles(), 1);
}

TEST(AtomicFile, LeavesTheOldFileAndNoTraceWhenGivenUp) {
  TestFolder folder;
  folder.Write("out.csv", "old");
  {
    auto file = AtomicFile::Create(folder / "out.csv");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("new").ok());
    AtomicFile moved = std::move(file.value());
  }
  EXPECT_EQ(ReadWholeFile(folder / "out.csv"), "old");
  EXPECT_EQ(folder.CountFiles(), 1);
}

TEST(AtomicFile, NamesTheFolderThatIsMissing) {
  TestFolder folder;
  auto file = AtomicFile::Create(folder / "no/out.csv");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_THAT(file.error().message, testing::HasSubstr("no/out.csv"));
}

}  // namespace
}  // namespace hstu
