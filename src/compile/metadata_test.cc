#include "compile/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace hstu {
namespace {

using testing::HasSubstr;

Metadata Make() {
  Metadata metadata;
  metadata.model_fingerprint = "f00d";
  metadata.abi = "abi";
  metadata.compiler = "g++ 12";
  metadata.target = "x86-64-v3";
  metadata.dtype = "f32";
  metadata.kv_dtype = "f32";
  metadata.bf16_products = "off";
  metadata.page_size = 32;
  metadata.step_tokens = 8192;
  metadata.weights = {"weights.bin", 128, "beef"};
  metadata.buckets = {{512, 8, 4096, "bucket_512_8.so", "cafe", 1 << 20, "key"}};
  metadata.kernels = {
      {"layers.0.norm_mul", "norm_mul", 512, 8, {{4096, 64}}, {{4096, 64}}, true, "asked for"}};
  return metadata;
}

TEST(Metadata, ReadsWhatItWrote) {
  const std::string text = ToJson(Make()).dump();
  const Result<Metadata> read = ParseMetadata(text, "metadata.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(read.value()).dump(), text);
  EXPECT_EQ(read->NumFallbacks(), 1);
}

TEST(Metadata, NamesTheKeyThatIsWrong) {
  const auto json = ToJson(Make());
  const auto message = [](const nlohmann::ordered_json& value) {
    const Result<Metadata> read = ParseMetadata(value.dump(), "metadata.json");
    return read.ok() ? "" : read.error().message;
  };
  auto broken = json;
  broken.erase("abi");
  EXPECT_THAT(message(broken), HasSubstr("abi is missing"));
  broken = json;
  broken["version"] = 7;
  EXPECT_THAT(message(broken), HasSubstr("version 7"));
  broken = json;
  broken["buckets"][0]["seq_len"] = "many";
  EXPECT_THAT(message(broken), HasSubstr("buckets[0].seq_len is no integer"));
  broken = json;
  broken["buckets"][0]["library"] = "../../evil.so";
  EXPECT_THAT(message(broken), HasSubstr("buckets[0].library is no name of a file"));
  broken = json;
  broken["weights"]["file"] = "";
  EXPECT_THAT(message(broken), HasSubstr("weights.file"));
  broken = json;
  broken["kernels"][0]["inputs"] = {{"x"}};
  EXPECT_THAT(message(broken), HasSubstr("kernels[0].inputs is no list of shapes"));
  broken = json;
  broken["page_size"] = 1e30;
  EXPECT_THAT(message(broken), HasSubstr("page_size"));
}

// Every value replaced by every kind of value, and every text cut short: an error or a value, never
// more.
TEST(Metadata, SurvivesWhateverItIsGiven) {
  const std::string text = ToJson(Make()).dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseMetadata(text.substr(0, size), "m").ok());
  }
  const nlohmann::json values[] = {nullptr,
                                   true,
                                   -1,
                                   18446744073709551615u,
                                   1.5,
                                   "",
                                   std::string("\0/", 2),
                                   nlohmann::json::array(),
                                   nlohmann::json::object()};
  const nlohmann::json flat = nlohmann::json::parse(text).flatten();
  for (const auto& [path, unused] : flat.items()) {
    for (const nlohmann::json& value : values) {
      nlohmann::json changed = nlohmann::json::parse(text);
      changed[nlohmann::json::json_pointer(path)] = value;
      (void)ParseMetadata(changed.dump(), "m").ok();
    }
  }
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = text;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    (void)ParseMetadata(changed, "m").ok();
  }
}

TEST(Metadata, TellsTheCommandThatMakesItAgain) {
  EXPECT_EQ(RebuildCommand(Make(), "m", "a"),
            "hstu compile --model m --out a --seq-len 512 --batch 8 --dtype f32 --kv-dtype f32 "
            "--page-size 32");
}

}  // namespace
}  // namespace hstu
