// Two real shared objects, built beside this test: one of examples/operator, twice.
#include "kernels/operator_library.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/test_files.h"
#include "hstu/operator.h"
#include "kernels/operators.h"

namespace hstu {
namespace {

using testing::HasSubstr;

class OperatorLibrary : public testing::Test {
 protected:
  // Puts a copy of the built library into a folder of its own.
  std::string Install(const std::string& folder) const {
    std::filesystem::create_directories(folder_ / folder);
    std::filesystem::copy_file(HSTU_CLIP_LIBRARY, folder_ / (folder + "/libclip.so"));
    return folder_ / folder;
  }

  TestFolder folder_;
};

TEST_F(OperatorLibrary, OffersItsOperators) {
  OperatorRegistry registry;
  ASSERT_TRUE(LoadOperatorLibraries(":" + Install("one"), &registry).ok());
  const OperatorInfo* clip = registry.Find("clip");
  ASSERT_NE(clip, nullptr);
  EXPECT_EQ(clip->origin, folder_ / "one/libclip.so");
  auto* run = reinterpret_cast<void (*)(const hstuRowsArgs*)>(clip->Variant("library"));
  ASSERT_NE(run, nullptr);
  const float x[] = {-3.0f, 0.5f, 0.0f, 2.0f, 1.0f, 0.0f};
  const float* inputs[] = {x};
  const int64_t strides[] = {3};
  float out[4];
  const hstuRowsArgs args{inputs, strides, out, 2, 2, 2};
  run(&args);
  EXPECT_THAT(out, testing::ElementsAre(-1.0f, 0.5f, 1.0f, 1.0f));
}

TEST_F(OperatorLibrary, OfATakenNameIsAnErrorThatNamesBothFiles) {
  OperatorRegistry registry;
  const Status status = LoadOperatorLibraries(Install("one") + ":" + Install("two"), &registry);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("operator clip"));
  EXPECT_THAT(status.error().message, HasSubstr(folder_ / "one/libclip.so"));
  EXPECT_THAT(status.error().message, HasSubstr(folder_ / "two/libclip.so"));
}

TEST_F(OperatorLibrary, ThatIsNoneIsNamed) {
  OperatorRegistry registry;
  const std::string file = folder_.Write("broken.so", "no shared object");
  const Status broken = LoadOperatorLibraries(folder_.path(), &registry);
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr(file));
  const Status missing = LoadOperatorLibraries(folder_ / "nowhere", &registry);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace hstu
