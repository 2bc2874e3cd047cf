#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
