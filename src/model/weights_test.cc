#include "model/weights.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace hstu {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A folder that goes away with the test.
class ModelFolder : public testing::Test {
 protected:
  ModelFolder()
      : folder_(fs::path(testing::TempDir()) /
                (std::string("weights_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ModelFolder() override { fs::remove_all(folder_); }

  void CopyGolden(const char* name) {
    fs::copy(fs::path(HSTU_GOLDEN_DIR) / name / "model", folder_,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  void Write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  json Config() {
    std::ifstream file(folder_ / "config.json");
    return json::parse(file);
  }

  std::string ErrorOfLoad() {
    const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
    return model.ok() ? "no error" : model.error().message;
  }

  // Writes config.json and a sparse model.safetensors of zeros for it, its header `padding` bytes
  // longer than needed.
  void WriteZeros(const json& config, const char* dtype, std::size_t padding = 0) {
    Write("config.json", config.dump());
    const Result<ModelConfig> parsed = ParseConfig(config.dump(), "config");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    json header = json::object();
    std::int64_t offset = 0;
    for (const TensorSpec& spec : ListTensors(parsed.value())) {
      const std::int64_t end =
          offset + spec.num_elements() * static_cast<std::int64_t>(SizeOf(*DTypeFromName(dtype)));
      header[spec.name] = {
          {"dtype", dtype}, {"shape", spec.shape}, {"data_offsets", {offset, end}}};
      offset = end;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8 + padding, ' ');
    std::uint64_t size = text.size();
    Write("model.safetensors",
          std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text);
    std::error_code failed;
    fs::resize_file(folder_ / "model.safetensors", 8 + size + offset, failed);
    if (failed) GTEST_SKIP() << "the file system has no sparse files of this size: " << failed;
  }

  fs::path folder_;
};

using Weights = ModelFolder;

TEST_F(Weights, EveryGoldenModelLoads) {
  for (const char* name :
       {"plain", "kuairand", "softmax", "window", "groups", "contextual_mask", "no_residual"}) {
    const Result<ModelFiles> model =
        ModelFiles::Load(std::string(HSTU_GOLDEN_DIR "/") + name + "/model");
    ASSERT_TRUE(model.ok()) << model.error().message;
    for (std::size_t i = 0; i < model->specs().size(); ++i) {
      EXPECT_EQ(model->weights()[i].shape, model->specs()[i].shape);
      EXPECT_EQ(model->Find(model->specs()[i].name), &model->weights()[i]);
    }
  }
}

TEST_F(Weights, FeaturesFindTheirTables) {
  CopyGolden("kuairand");
  Result<ModelFiles> loaded = ModelFiles::Load(folder_.string());
  ASSERT_TRUE(loaded.ok());
  const ModelFiles model = std::move(loaded).value();  // what it points to survives a move
  EXPECT_EQ(model.item().num_embeddings, 997);
  EXPECT_EQ(model.item().weight.data, model.Find("embedding.video_id.weight")->data);
  ASSERT_NE(model.action(), nullptr);
  EXPECT_EQ(model.action()->num_embeddings, 233);
  ASSERT_EQ(model.contextual().size(), 3u);
  EXPECT_EQ(model.contextual()[1]->feature, "user_active_degree");
  EXPECT_EQ(model.FindFeature("x"), nullptr);
  EXPECT_EQ(model.Find("x"), nullptr);

  EXPECT_EQ(model.item().RowOf(996).value(), 996);
  for (const std::int64_t id : {std::int64_t{997}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const Result<std::int64_t> row = model.item().RowOf(id);
    ASSERT_FALSE(row.ok());
    EXPECT_EQ(row.error().code, ErrorCode::kIdOutOfRange);
    EXPECT_EQ(row.error().message, fmt::format("video_id {} is outside its table [0, 997)", id));
  }
}

TEST_F(Weights, VocabulariesMapRawIdsAndOovRowTakesTheRest) {
  CopyGolden("plain");
  json config = Config();
  config["embedding_tables"][0]["vocabulary"] = "videos.txt";
  Write("config.json", config.dump());
  Write("videos.txt", "5000\n-3\n70\n");
  {
    const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->item().RowOf(70).value(), 2);
    const Result<std::int64_t> row = model->item().RowOf(123);
    ASSERT_FALSE(row.ok());
    EXPECT_EQ(row.error().code, ErrorCode::kIdOutOfRange);
    EXPECT_THAT(row.error().message, AllOf(HasSubstr("video_id 123 is not in the vocabulary ("),
                                           HasSubstr("videos.txt) and the table has no oov_row")));
  }
  config["embedding_tables"][0]["oov_row"] = 996;
  Write("config.json", config.dump());
  const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->item().RowOf(-3).value(), 1);
  EXPECT_EQ(model->item().RowOf(123).value(), 996);

  fs::remove(folder_ / "videos.txt");
  EXPECT_THAT(ErrorOfLoad(), HasSubstr("videos.txt: opening it failed: No such file"));
}

TEST_F(Weights, MissingFilesAreNamed) {
  EXPECT_THAT(ErrorOfLoad(), HasSubstr("/config.json: opening it failed: No such file"));
  CopyGolden("plain");
  fs::remove(folder_ / "model.safetensors");
  EXPECT_THAT(ErrorOfLoad(), HasSubstr("/model.safetensors: opening it failed: No such file"));
}

TEST_F(Weights, AConfigThatDoesNotFitTheTensorsIsRefusedWithBoth) {
  CopyGolden("plain");
  json config = Config();
  config["num_layers"] = 4;
  Write("config.json", config.dump());
  EXPECT_THAT(ErrorOfLoad(), AllOf(HasSubstr("model.safetensors: tensor "),
                                   HasSubstr("\"layers.3.input_norm.weight\" is missing"),
                                   HasSubstr("shape [64]")));
  config["num_layers"] = 2;  // the third layer's tensors are left over, and ignored
  config["embedding_tables"][0]["num_embeddings"] = 998;
  Write("config.json", config.dump());
  EXPECT_THAT(ErrorOfLoad(), HasSubstr("tensor \"embedding.video_id.weight\" has shape [997, 64], "
                                       "but config.json asks for [998, 64]"));
  config["embedding_tables"][0]["num_embeddings"] = 997;
  Write("config.json", config.dump());
  EXPECT_EQ(ErrorOfLoad(), "no error");
}

TEST(RowSplit, GivesTheFirstRanksOneRowMore) {
  const RowSplit split{11, 4};
  EXPECT_EQ(split.Begin(0), 0);
  EXPECT_EQ(split.Begin(1), 3);
  EXPECT_EQ(split.Begin(3), 9);
  EXPECT_EQ(split.Begin(4), 11);
  for (std::int64_t row = 0; row < 11; ++row) {
    const std::int64_t owner = split.OwnerOf(row);
    EXPECT_GE(row, split.Begin(owner));
    EXPECT_LT(row, split.Begin(owner + 1));
  }
}

TEST_F(Weights, ARankMapsItsRowsOfLargeTablesAlone) {
  CopyGolden("plain");  // 997 rows of 256 bytes
  const Result<ModelFiles> whole = ModelFiles::Load(folder_.string());
  ASSERT_TRUE(whole.ok());
  ModelPart part{2, 1, 997};
  const Result<ModelFiles> half = ModelFiles::Load(folder_.string(), part);
  ASSERT_TRUE(half.ok());
  const std::size_t gone =
      whole->weights_file().mapped_bytes() - half->weights_file().mapped_bytes();
  EXPECT_GT(gone, 499 * 256 - 2 * 4096);
  EXPECT_LE(gone, 499 * 256);
  const std::size_t own = 499 * 256;
  EXPECT_EQ(std::memcmp(half->item().weight.bytes().data() + own,
                        whole->item().weight.bytes().data() + own, 498 * 256),
            0);
  part.table_min_rows = 998;
  const Result<ModelFiles> small = ModelFiles::Load(folder_.string(), part);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->weights_file().mapped_bytes(), whole->weights_file().mapped_bytes());
}

TEST_F(Weights, OtherElementTypesAreNamed) {
  CopyGolden("plain");
  const Result<MappedFile> file = MappedFile::Open(folder_ / "model.safetensors");
  ASSERT_TRUE(file.ok());
  std::string text(file->text());
  text.replace(text.find("F32"), 3, "I32");
  fs::remove(folder_ / "model.safetensors");
  Write("model.safetensors", text);
  EXPECT_THAT(ErrorOfLoad(), HasSubstr("has dtype I32, but weights are F32, F16 or BF16"));
}

TEST_F(Weights, TensorsAtOddAddressesAreRead) {
  CopyGolden("plain");
  const json config = Config();
  for (const char* dtype : {"F32", "F16", "BF16"}) {
    WriteZeros(config, dtype, 1);
    const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
    ASSERT_TRUE(model.ok()) << model.error().message;
    const WeightView& weight = *model->Find("head.0.bias");
    std::vector<float> values(weight.num_elements(), 1.0f);
    LoadFloats(weight.dtype, weight.data, values.size(), values.data());
    EXPECT_THAT(values, testing::Each(0.0f));
  }
}

std::int64_t ResidentBytes(std::span<const std::byte> range) {
  const std::size_t page = ::sysconf(_SC_PAGESIZE);
  std::int64_t resident = 0;
  std::ifstream smaps("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(range.data()) / page * page;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0;
    long kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin >= address && begin < address + range.size();
    } else if (inside && std::sscanf(line.c_str(), "Rss: %ld kB", &kilobytes) == 1) {
      resident += kilobytes * 1024;
    }
  }
  return resident;
}

// 10,000,000 x 512 in bf16 are 10.2 GB: more than most machines would want to read.
TEST_F(Weights, AHugeTableLoadsAtOnceAndOnlyTouchedPagesAreResident) {
  CopyGolden("plain");
  json config = Config();
  config["hidden_size"] = 512;
  config["embedding_tables"][0]["num_embeddings"] = 10'000'000;
  WriteZeros(config, "BF16");
  if (IsSkipped()) return;

  const auto start = std::chrono::steady_clock::now();
  const Result<ModelFiles> model = ModelFiles::Load(folder_.string());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_LT(seconds.count(), 1.0);

  const WeightView& table = model->item().weight;
  EXPECT_EQ(table.bytes().size(), 10'240'000'000u);
  EXPECT_LT(ResidentBytes(table.bytes()), 64 << 10);
  constexpr int kRows = 100;
  float sum = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t row = model->item().RowOf(i * 99'999).value();
    sum += LoadFloat(table.dtype, table.data + row * 512 * 2);
  }
  EXPECT_EQ(sum, 0.0f);
  EXPECT_GE(ResidentBytes(table.bytes()), kRows * 4096);
  EXPECT_LE(ResidentBytes(table.bytes()), (kRows + 16) * 4096);
}

}  // namespace
}  // namespace hstu
