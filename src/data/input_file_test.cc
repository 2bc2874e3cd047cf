#include "data/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/test_files.h"

namespace hstu {
namespace {

using testing::HasSubstr;

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

// The content, read in pieces of `piece` bytes, or the error's message.
std::string ReadAll(const std::string& path, std::size_t piece) {
  auto file = InputFile::Open(path);
  if (!file.ok()) return file.error().message;
  std::string text;
  std::string buffer(piece, '\0');
  for (;;) {
    auto got = file->Read(buffer.data(), buffer.size());
    if (!got.ok()) return got.error().message;
    if (got.value() == 0) return text;
    text.append(buffer, 0, got.value());
  }
}

std::string LongText() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 10007) + ",";
  return text;
}

TEST(InputFile, ReadsPlainGzipAndZstdAlike) {
  TestFolder folder;
  std::string text = LongText();
  for (const auto& content : {text, Gzip(text), Zstd(text)}) {
    std::string path = folder.Write("a", content);
    EXPECT_EQ(ReadAll(path, 1 << 20), text);
    EXPECT_EQ(ReadAll(path, 777), text);
  }
}

TEST(InputFile, ReadsAllMembersOfACompressedFile) {
  TestFolder folder;
  EXPECT_EQ(ReadAll(folder.Write("a.gz", Gzip("one ") + Gzip("") + Gzip("two")), 2), "one two");
  EXPECT_EQ(ReadAll(folder.Write("a.zst", Zstd("one ") + Zstd("") + Zstd("two")), 2), "one two");
}

TEST(InputFile, RefusesACutOrDamagedCompressedFile) {
  TestFolder folder;
  std::string text = LongText();
  for (const auto& whole : {Gzip(text), Zstd(text)}) {
    std::string path = folder.Write("a", whole.substr(0, whole.size() / 2));
    EXPECT_THAT(ReadAll(path, 4096), HasSubstr("it ends early"));
    path = folder.Write("a", whole.substr(0, whole.size() - 1));
    EXPECT_THAT(ReadAll(path, 4096), HasSubstr("it ends early"));
    std::string damaged = whole;
    for (int i = 20; i < 60; ++i) damaged[static_cast<std::size_t>(i)] ^= 0x55;
    EXPECT_THAT(ReadAll(folder.Write("a", damaged), 4096), HasSubstr("is damaged"));
  }
}

TEST(InputFile, NamesWhatCantBeOpened) {
  TestFolder folder;
  EXPECT_THAT(ReadAll(folder / "nothing.csv", 10), HasSubstr("nothing.csv can't be opened"));
  EXPECT_THAT(ReadAll(folder.path(), 10), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace hstu
