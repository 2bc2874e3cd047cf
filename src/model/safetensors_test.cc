#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/mapped_file.h"

namespace hstu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::byte> File(std::string_view header, std::size_t data_size,
                            std::optional<std::uint64_t> claimed = std::nullopt) {
  const std::uint64_t size = claimed.value_or(header.size());
  std::vector<std::byte> file(8 + header.size() + data_size);
  for (int i = 0; i < 8; ++i) file[i] = static_cast<std::byte>(size >> (8 * i));
  std::memcpy(file.data() + 8, header.data(), header.size());
  return file;
}

std::string ErrorOf(std::string_view header, std::size_t data_size,
                    std::optional<std::uint64_t> claimed = std::nullopt) {
  const std::vector<std::byte> file = File(header, data_size, claimed);
  const Result<Safetensors> parsed = ParseSafetensors(file, "m.safetensors");
  if (parsed.ok()) return "no error";
  EXPECT_EQ(parsed.error().code, ErrorCode::kBadModel);
  EXPECT_THAT(parsed.error().message, HasSubstr("m.safetensors: "));
  return parsed.error().message;
}

TEST(Safetensors, ReadsAGoldenModel) {
  Result<MappedFile> file = MappedFile::Open(HSTU_GOLDEN_DIR "/kuairand/model/model.safetensors");
  ASSERT_TRUE(file.ok());
  const Result<Safetensors> parsed = ParseSafetensors(file->bytes(), "m");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const SafetensorsEntry* table = parsed->Find("embedding.video_id.weight");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->dtype, DType::kF32);
  EXPECT_THAT(table->shape, testing::ElementsAre(997, 64));
  EXPECT_EQ(table->bytes.size(), 997u * 64 * 4);
  EXPECT_EQ(parsed->Find("no such"), nullptr);
}

TEST(Safetensors, KeepsMetadataScalarsEmptyTensorsAndForeignTypes) {
  const std::vector<std::byte> file = File(
      R"({"__metadata__": {"format": "pt"}, "b": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]},
          "a": {"dtype": "F16", "shape": [0, 3], "data_offsets": [8, 8]}}   )",
      8);
  const Result<Safetensors> parsed = ParseSafetensors(file, "m");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->metadata.at("format"), "pt");
  EXPECT_EQ(parsed->Find("b")->dtype, std::nullopt);
  EXPECT_EQ(parsed->Find("b")->dtype_name, "I64");
  EXPECT_TRUE(parsed->Find("a")->bytes.empty());
}

TEST(Safetensors, AHeaderSizeThatLiesIsRefused) {
  const std::byte few[7] = {};
  EXPECT_FALSE(ParseSafetensors({few, 7}, "m").ok());
  EXPECT_FALSE(ParseSafetensors({}, "m").ok());
  EXPECT_THAT(ErrorOf("{}", 0, 3), HasSubstr("claims 3 bytes, but the file has 10"));
  EXPECT_THAT(ErrorOf("{}", 0, UINT64_MAX), HasSubstr("limit of 100000000"));
  EXPECT_THAT(ErrorOf("{}", 0, 1), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf("", 0), HasSubstr("no valid JSON"));
  EXPECT_THAT(ErrorOf("[]", 0), HasSubstr("not a JSON object"));
}

TEST(Safetensors, TensorsThatAreNotWhatTheySayAreRefused) {
  const auto one = [](const char* fields) {
    return ErrorOf(std::string(R"({"t": {)") + fields + "}}", 8);
  };
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [3], "data_offsets": [0, 8])"),
              HasSubstr("has 8 bytes, but its shape [3] of F32 takes 12"));
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [2], "data_offsets": [0, 16])"),
              HasSubstr("outside the file's [0, 8]"));
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [2], "data_offsets": [8, 0])"), HasSubstr("outside"));
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [2], "data_offsets": [0])"),
              HasSubstr("not two sizes"));
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [2], "data_offsets": [-8, 0])"),
              HasSubstr("not two sizes"));
  EXPECT_THAT(one(R"("dtype": "F32", "shape": [2])"), HasSubstr("data_offsets null"));
  EXPECT_THAT(one(R"("dtype": "Q4", "shape": [2], "data_offsets": [0, 8])"),
              HasSubstr("unknown dtype \"Q4\""));
  EXPECT_THAT(one(R"("shape": [2], "data_offsets": [0, 8])"), HasSubstr("unknown dtype null"));
  for (const char* shape : {"-2", "[-2]", "[2.0]", "[\"2\"]", "[4294967296, 4294967296]",
                            "[18446744073709551615]", "[1,1,1,1,1,1,1,1,2]"}) {
    const std::string fields =
        std::string(R"("dtype": "F32", "data_offsets": [0, 8], "shape": )") + shape;
    EXPECT_THAT(one(fields.c_str()), HasSubstr("impossible shape")) << shape;
  }
  EXPECT_THAT(ErrorOf(R"({"t": 3})", 0), HasSubstr("tensor \"t\" is 3"));
  EXPECT_THAT(ErrorOf(R"({"__metadata__": {"a": 1}})", 0), HasSubstr("not a string"));
}

TEST(Safetensors, TensorsTileTheFile) {
  const auto two = [](const char* a, const char* b, std::size_t size) {
    return ErrorOf(std::string(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": )") + a +
                       R"(}, "b": {"dtype": "F32", "shape": [2], "data_offsets": )" + b + "}}",
                   size);
  };
  EXPECT_EQ(two("[0, 8]", "[8, 16]", 16), "no error");
  EXPECT_EQ(two("[8, 16]", "[0, 8]", 16), "no error");
  EXPECT_THAT(two("[0, 8]", "[4, 12]", 12), HasSubstr("\"a\" and \"b\" overlap"));
  EXPECT_THAT(two("[0, 8]", "[0, 8]", 8), HasSubstr("overlap"));
  EXPECT_THAT(two("[0, 8]", "[12, 20]", 20), HasSubstr("no tensor has the 4 bytes before \"b\""));
  EXPECT_THAT(two("[4, 12]", "[12, 20]", 20), HasSubstr("4 bytes before \"a\""));
  EXPECT_THAT(two("[0, 8]", "[8, 16]", 17), HasSubstr("last 1 bytes"));
  EXPECT_THAT(two("[0, 8]", "[8, 16]", 15), HasSubstr("outside the file"));
}

TEST(Safetensors, ATensorGivenTwiceIsRefused) {
  EXPECT_THAT(ErrorOf(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                          "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
                      4),
              HasSubstr("\"a\" is given twice"));
}

TEST(Safetensors, EveryCutOfAFileIsRefused) {
  Result<MappedFile> file = MappedFile::Open(HSTU_GOLDEN_DIR "/plain/model/model.safetensors");
  ASSERT_TRUE(file.ok());
  const auto bytes = file->bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
    // A copy of just these bytes, so that a sanitizer sees a read past them.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + size);
    EXPECT_FALSE(ParseSafetensors(cut, "m").ok()) << size;
  }
}

}  // namespace
}  // namespace hstu
