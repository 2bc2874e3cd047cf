// Generated code of attention_update, compiled and loaded, beside the built-in operator.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "base/test_files.h"
#include "compile/artifact_abi.h"
#include "compile/codegen.h"
#include "compile/compiler.h"
#include "compile/kernel_sources.h"
#include "compile/step_plan.h"

namespace hstu {
namespace {

constexpr int64_t kRows = 37;

struct Merged {
  std::vector<std::byte> out;
  std::vector<float> lse;

  bool operator==(const Merged& other) const {
    return out == other.out &&
           std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
  }
};

// Of `sp` parts, some of which saw nothing.
Merged MergeParts(AttentionUpdateFn* op, DType dtype, int64_t sp, int64_t dim) {
  std::mt19937 random(static_cast<unsigned>(sp));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  const auto element = static_cast<int64_t>(SizeOf(dtype));
  std::vector<float> lse(sp * kRows);
  std::vector<std::byte> parts(sp * kRows * dim * element);
  for (int64_t i = 0; i < sp * kRows; ++i) {
    const bool nothing = random() % 5 == 0;
    lse[i] = nothing ? -std::numeric_limits<float>::infinity() : 10.0f * uniform(random);
    for (int64_t c = 0; c < dim; ++c) {
      StoreFloat(dtype, uniform(random), parts.data() + (i * dim + c) * element);
    }
  }
  Merged merged{std::vector<std::byte>(kRows * dim * element), std::vector<float>(kRows)};
  std::vector<float> scratch(AttentionUpdateScratch(sp, dim));
  op({sp, kRows, dim, dtype, reinterpret_cast<const std::byte*>(lse.data()), parts.data(),
      merged.out.data(), reinterpret_cast<std::byte*>(merged.lse.data()), 0, kRows,
      scratch.data()});
  return merged;
}

// A library with this one kernel of a model compiled.
std::string CompileKernel(const ModelFiles& files, const Target& target, const TestFolder& folder) {
  for (const KernelSource& source : KernelSources()) {
    const std::string path = folder / source.path;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    folder.Write(source.path, source.text);
  }
  const Result<Compiler> compiler = Compiler::Find(folder.path());
  EXPECT_TRUE(compiler.ok()) << compiler.error().message;
  const std::vector<std::string> ops = {"attention_update"};
  std::vector<GeneratedFile> sources = GenerateKernels(files, {}, ops);
  sources.push_back(
      {"bucket", GenerateBucket(1, 1, PlanStep(files.config(), DType::kF32, 1), {}, ops)});
  sources.push_back({"dtype", "#include \"tensor/dtype.cc\"\n"});
  std::vector<std::string> objects;
  for (const GeneratedFile& source : sources) {
    const std::string text = folder.Write(source.name + ".cc", source.text);
    objects.push_back(folder / (source.name + ".o"));
    const Status status = compiler->CompileObject(text, folder.path(), target, objects.back());
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  std::string library = folder / "bucket.so";
  EXPECT_TRUE(compiler->Link(objects, library).ok());
  return library;
}

TEST(AttentionUpdateCodegen, GivesTheBitsOfTheBuiltInOperatorInEveryType) {
  const Result<Target> target = ParseTarget("native");
  if (!target.ok()) GTEST_SKIP() << target.error().message;
  const TestFolder folder;
  // 20 channels: two panels of 16.
  const Result<ModelFiles> files =
      ModelFiles::Load(std::string(HSTU_GOLDEN_DIR) + "/odd_softmax/model");
  ASSERT_TRUE(files.ok()) << files.error().message;
  const std::string library = CompileKernel(files.value(), target.value(), folder);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  const auto* bucket = static_cast<const ArtifactBucket*>(::dlsym(handle, kArtifactSymbol));
  ASSERT_NE(bucket, nullptr);
  AttentionUpdateFn* compiled = bucket->kernels.attention_update;
  ASSERT_NE(compiled, nullptr);
  EXPECT_EQ(bucket->kernels.norm_mul, nullptr);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const int64_t sp : {1, 3, 8}) {
      EXPECT_TRUE(MergeParts(compiled, dtype, sp, 32) ==
                  MergeParts(AttentionUpdateFor(target->isa), dtype, sp, 32))
          << NameOf(dtype) << ", sp " << sp;
    }
  }
  ::dlclose(handle);
}

}  // namespace
}  // namespace hstu
