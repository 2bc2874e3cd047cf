#include "model/cache_identity.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/test_files.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

class CacheIdentityTest : public testing::Test {
 protected:
  CacheIdentityTest() { fs::copy(fs::path(HSTU_GOLDEN_DIR) / "plain" / "model", folder_.path()); }

  std::string Weights() const { return folder_ / "model.safetensors"; }

  std::string Now(const CacheNumerics& numerics = CacheNumerics()) const {
    const Result<ModelFiles> model = ModelFiles::Load(folder_.path());
    EXPECT_TRUE(model.ok()) << model.error().message;
    return CacheIdentity(model.value(), numerics);
  }

  // Without a change of the file's size and time.
  void FlipByte(const std::string& tensor) const {
    const auto time = fs::last_write_time(Weights());
    const Result<ModelFiles> model = ModelFiles::Load(folder_.path());
    const auto offset = model->Find(tensor)->data - model->weights_file().bytes().data();
    std::fstream file(Weights(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const int byte = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    fs::last_write_time(Weights(), time);
  }

  // Writes `metadata` into the file's header.
  void SetMetadata(const std::string& metadata) const {
    std::string file = ReadWholeFile(Weights());
    uint64_t size = 0;
    std::memcpy(&size, file.data(), sizeof(size));
    std::string header = file.substr(8, size);
    header.insert(1, "\"__metadata__\":" + metadata + ",");
    const uint64_t grown = header.size();
    std::ofstream out(Weights(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&grown), sizeof(grown));
    out << header << file.substr(8 + size);
  }

  TestFolder folder_;
};

TEST_F(CacheIdentityTest, IsTheSameForTheSame) {
  EXPECT_EQ(Now().size(), 32u);
  EXPECT_EQ(Now(), Now());
}

TEST_F(CacheIdentityTest, EveryFactChangesIt) {
  std::vector<CacheNumerics> all(9, {"avx2", "all", "f32", Products::kF32, "f32", 32, false, ""});
  all[1].isa = "avx512";
  all[2].fused_ops = "none";
  all[3].activation_type = "bf16";
  all[4].storage_type = "bf16";
  all[5].page_tokens = 64;
  all[6].disable_context = true;
  all[7].embedding_operators = "another library";
  all[8].products = Products::kBF16Pairs;
  std::set<std::string> identities;
  for (const CacheNumerics& numerics : all) identities.insert(Now(numerics));
  EXPECT_EQ(identities.size(), all.size());
}

TEST_F(CacheIdentityTest, TheModelChangesIt) {
  const std::string before = Now();
  FlipByte("layers.1.uvqk.weight");
  EXPECT_NE(Now(), before);
}

TEST_F(CacheIdentityTest, TheTablesTimeRowsAndSizeChangeIt) {
  const std::string before = Now();
  FlipByte("embedding.video_id.weight");
  const std::string flipped = Now();
  EXPECT_NE(flipped, before);
  FlipByte("embedding.video_id.weight");
  EXPECT_EQ(Now(), before);
  fs::last_write_time(Weights(), fs::last_write_time(Weights()) + std::chrono::milliseconds(3));
  EXPECT_NE(Now(), before);
}

TEST_F(CacheIdentityTest, AFingerprintInTheFileStandsForItsTables) {
  SetMetadata(R"({"fingerprint":"v1"})");
  const std::string before = Now();
  fs::last_write_time(Weights(), fs::last_write_time(Weights()) + std::chrono::hours(1));
  FlipByte("embedding.video_id.weight");
  EXPECT_EQ(Now(), before);
  FlipByte("layers.0.proj.weight");
  EXPECT_NE(Now(), before);
}

}  // namespace
}  // namespace hstu
