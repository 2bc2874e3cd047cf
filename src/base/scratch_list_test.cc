#include "base/scratch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// TMPDIR for as long as it lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& path) {
    if (const char* old = std::getenv("TMPDIR")) old_ = old;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryFolder() {
    if (old_) {
      setenv("TMPDIR", old_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::optional<std::string> old_;
};

TEST(ScratchList, GivesBackInOrderWhatWasAppendedAndLetsItBeChanged) {
  auto list = ScratchList<std::int64_t>::Create();
  ASSERT_TRUE(list.ok()) << list.error().message;
  constexpr std::int64_t kValues = 100'003;  // several buffers
  for (std::int64_t i = 0; i < kValues; ++i) ASSERT_TRUE(list->Append(kValues - i).ok());
  ASSERT_EQ(list->size(), kValues);
  ScratchList<std::int64_t> moved = std::move(list).value();
  ASSERT_TRUE(moved.Map().ok());
  ASSERT_EQ(moved.values().front(), kValues);
  std::sort(moved.values().begin(), moved.values().end());
  for (std::int64_t i = 0; i < kValues; ++i) {
    ASSERT_EQ(moved.values()[static_cast<std::size_t>(i)], i + 1);
  }
}

TEST(ScratchList, MayBeEmpty) {
  auto list = ScratchList<int>::Create();
  ASSERT_TRUE(list.ok());
  ASSERT_TRUE(list->Append(std::span<const int>()).ok());
  ASSERT_TRUE(list->Map().ok());
  EXPECT_THAT(list->values(), IsEmpty());
}

TEST(ScratchList, LeavesNoFileAndNamesTheFolderThatItCannotUse) {
  TestFolder folder;
  {
    TemporaryFolder temporary(folder.path());
    auto list = ScratchList<int>::Create();
    ASSERT_TRUE(list.ok());
    ASSERT_TRUE(list->Append(7).ok());
    ASSERT_TRUE(list->Map().ok());
    EXPECT_THAT(list->values(), ElementsAre(7));
    EXPECT_EQ(folder.CountFiles(), 0);
  }
  TemporaryFolder temporary("/proc");
  auto list = ScratchList<int>::Create();
  ASSERT_FALSE(list.ok());
  EXPECT_THAT(list.error().message, HasSubstr("a temporary file in /proc can't be made"));
  EXPECT_THAT(list.error().message, HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace hstu
