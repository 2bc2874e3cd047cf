#include "model/fingerprint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hstu {
namespace {

namespace fs = std::filesystem;

class FingerprintTest : public testing::Test {
 protected:
  FingerprintTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy(fs::path(HSTU_GOLDEN_DIR) / "plain" / "model", folder_);
    first_ = Now();
  }
  ~FingerprintTest() override { fs::remove_all(folder_); }

  std::string Now() {
    const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
    EXPECT_TRUE(model.ok()) << model.error().message;
    return Fingerprint(model.value());
  }

  void EditConfig(const std::function<void(nlohmann::json&)>& edit) {
    std::ifstream in(folder_ / "config.json");
    nlohmann::json config = nlohmann::json::parse(in);
    edit(config);
    std::ofstream(folder_ / "config.json") << config.dump();
  }

  void FlipByte(const char* tensor) {
    const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
    const std::byte* start = model->weights_file().bytes().data();
    const std::streamoff offset = model->Find(tensor)->data - start;
    std::fstream file(folder_ / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "fingerprint";
  std::string first_;
};

TEST_F(FingerprintTest, IsTheSameForTheSameModel) {
  EXPECT_EQ(first_.size(), 32u);
  EXPECT_EQ(Now(), first_);
  EditConfig([](auto& config) {  // says the same in other words
    config["residual"] = true;
    config["a_key_of_tomorrow"] = 1;
  });
  EXPECT_EQ(Now(), first_);
}

TEST_F(FingerprintTest, ChangesWithTheConfig) {
  EditConfig([](auto& config) { config["scaling_seqlen"] = 97; });
  EXPECT_NE(Now(), first_);
}

TEST_F(FingerprintTest, ChangesWithADenseWeight) {
  FlipByte("layers.1.uvqk.weight");
  EXPECT_NE(Now(), first_);
}

TEST_F(FingerprintTest, DoesNotReadTables) {
  FlipByte("embedding.video_id.weight");
  EXPECT_EQ(Now(), first_);
}

TEST_F(FingerprintTest, ChangesWithAVocabulary) {
  std::ofstream(folder_ / "ids.txt") << "1\n2\n";
  EditConfig([](auto& config) { config["embedding_tables"][0]["vocabulary"] = "ids.txt"; });
  const std::string with = Now();
  std::ofstream(folder_ / "ids.txt") << "2\n1\n";
  EXPECT_NE(Now(), with);
}

}  // namespace
}  // namespace hstu
