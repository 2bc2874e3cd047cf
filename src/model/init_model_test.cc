#include "model/init_model.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/fingerprint.h"
#include "model/weights.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

class InitModel : public testing::Test {
 protected:
  InitModel() { fs::remove_all(folder_); }
  ~InitModel() override { fs::remove_all(folder_); }

  ModelFiles Make(const InitOptions& options) {
    const Result<ModelFiles> golden = ModelFiles::Load(HSTU_GOLDEN_DIR "/kuairand/model");
    const Status written = WriteRandomModel(golden->config(), options, folder_);
    EXPECT_TRUE(written.ok()) << written.error().message;
    Result<ModelFiles> model = ModelFiles::Load(folder_);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return std::move(model).value();
  }

  std::string folder_ = testing::TempDir() + "init_model";
};

std::vector<float> Values(const WeightView& weight) {
  std::vector<float> values(weight.num_elements());
  LoadFloats(weight.dtype, weight.data, values.size(), values.data());
  return values;
}

TEST_F(InitModel, LoadsAndHasTheScalesOfItsRoles) {
  const ModelFiles model = Make({});
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const TensorSpec& spec = model.specs()[i];
    const std::vector<float> values = Values(model.weights()[i]);
    if (values.size() < 1000) continue;
    double sum = 0, squares = 0;
    for (const float value : values) sum += value, squares += value * value;
    const double scale = spec.role == TensorRole::kMatrix ? 1 / std::sqrt(spec.shape.back()) : 0.3;
    EXPECT_NEAR(sum / values.size(), 0, 0.1 * scale) << spec.name;
    EXPECT_NEAR(std::sqrt(squares / values.size()), scale, 0.05 * scale) << spec.name;
  }
  for (const float value : Values(*model.Find("layers.0.input_norm.weight"))) {
    EXPECT_NEAR(value, 1.0f, 0.35f);
  }
}

TEST_F(InitModel, TheSameSeedGivesTheSameBytesEverywhere) {
  const ModelFiles first = Make({.seed = 7});
  const std::string fingerprint = Fingerprint(first);
  const std::span<const std::byte> file = first.weights_file().bytes();
  const auto data = file.subspan(8 + first.safetensors_header().size());
  // Computed once, on one machine: all others must give it.
  EXPECT_EQ(XXH3_64bits(data.data(), data.size()), 2975543367334377071u);
  EXPECT_EQ(Fingerprint(Make({.seed = 7})), fingerprint);
  EXPECT_NE(Fingerprint(Make({.seed = 8})), fingerprint);
}

TEST_F(InitModel, TypesOfTablesAndWeightsAreChosenApart) {
  const ModelFiles model = Make({.dtype = DType::kF32, .table_dtype = DType::kBF16});
  EXPECT_EQ(model.item().weight.dtype, DType::kBF16);
  EXPECT_EQ(model.Find("position.weight")->dtype, DType::kF32);
  for (const WeightView& weight : model.weights()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.data) % SizeOf(weight.dtype), 0u);
  }
}

TEST_F(InitModel, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_) << "a file";
  const Result<ModelFiles> golden = ModelFiles::Load(HSTU_GOLDEN_DIR "/plain/model");
  const Status written = WriteRandomModel(golden->config(), {}, folder_ + "/x");
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find(folder_), std::string::npos);
}

}  // namespace
}  // namespace hstu
