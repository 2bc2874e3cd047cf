#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace hstu {
namespace {

std::string TestPath(const std::string& name) { return testing::TempDir() + "mapped_file_" + name; }

TEST(MappedFile, HoldsTheBytesOfTheFileAndSurvivesMoves) {
  const std::string path = TestPath("bytes");
  std::ofstream(path) << "abc";
  Result<MappedFile> opened = MappedFile::Open(path);
  ASSERT_TRUE(opened.ok());
  MappedFile file = std::move(opened).value();
  EXPECT_EQ(file.text(), "abc");
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.text(), "abc");
  EXPECT_EQ(moved.path(), path);
  moved.AdviseRandom(moved.bytes().subspan(1));
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const std::string path = TestPath("empty");
  std::ofstream{path};
  Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
  file->AdviseRandom(file->bytes());
}

TEST(MappedFile, GivesUpWholePagesAndKeepsTheRest) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::string path = TestPath("pages");
  std::ofstream(path) << std::string(10 * page, 'x');
  Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->mapped_bytes(), 10 * page);
  file->Unmap(file->bytes().subspan(6 * page + 1, 3 * page));  // two whole ones
  file->Unmap(file->bytes().subspan(page, page));
  file->Unmap(file->bytes().subspan(3 * page + 1, page / 2));  // none
  EXPECT_EQ(file->mapped_bytes(), 7 * page);
  for (const std::size_t kept : {0, 2, 3, 4, 5, 6, 9}) EXPECT_EQ(file->text()[kept * page], 'x');
  // What takes the place of a gap outlives the file.
  auto* gap = const_cast<std::byte*>(file->bytes().data() + page);
  ASSERT_EQ(::mmap(gap, page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            gap);
  { const MappedFile moved = std::move(file).value(); }
  *gap = std::byte{1};
  ::munmap(gap, page);
}

TEST(MappedFile, WhatCannotBeMappedIsAnErrorThatNamesIt) {
  const std::string fifo = TestPath("fifo");
  std::filesystem::remove(fifo);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {TestPath("missing"), testing::TempDir(), fifo}) {
    const Result<MappedFile> file = MappedFile::Open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, ErrorCode::kIo);
    EXPECT_NE(file.error().message.find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace hstu
