// Artifacts that don't fit, are damaged or are of something else: one line that says so, never a
// crash; and what a rebuild makes again.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/cpu.h"
#include "base/sha256.h"
#include "base/test_files.h"
#include "tests/artifacts.h"
#include "tests/golden.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A copy of artifacts of the plain case, to be damaged.
class ArtifactFaults : public testing::Test {
 protected:
  void SetUp() override {
    golden_ = LoadGolden("plain");
    CompileInto(SmallBuckets(golden_.model, "faults"), folder_.path());
  }

  Result<Engine> Load(EngineOptions options = {}) {
    options.artifacts = folder_.path();
    return Engine::Load(golden_.model, options);
  }

  // The message, which is one line and ends with the command.
  std::string MessageOf(const Result<Engine>& engine) {
    if (engine.ok()) return "no error";
    const std::string message = engine.error().message;
    EXPECT_THAT(message, AllOf(HasSubstr(folder_.path()), HasSubstr("hstu compile --model"),
                               Not(HasSubstr("\n"))));
    return message;
  }

  void Replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = ReadWholeFile(folder_ / file);
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
    folder_.Write(file, text);
  }

  // As `file` is now, metadata.json says.
  void RecordHash(const std::string& file, const std::string& before) {
    Replace("metadata.json", before, Sha256(ReadWholeFile(folder_ / file)));
  }

  GoldenCase golden_;
  TestFolder folder_;
  const std::string library_ = "bucket_40_1.so";
};

TEST_F(ArtifactFaults, WholeOnesLoadAndMayBeMoved) {
  ASSERT_TRUE(Load().ok()) << Load().error().message;
  const fs::path moved = folder_.path() + "_moved";
  fs::rename(folder_.path(), moved);
  EngineOptions options;
  options.artifacts = fs::relative(moved).string();
  const Result<Engine> engine = Engine::Load(golden_.model, options);
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  fs::remove_all(moved);
}

TEST_F(ArtifactFaults, AFlippedByteOfALibraryIsFoundBeforeItIsLoaded) {
  std::string bytes = ReadWholeFile(folder_ / library_);
  bytes[bytes.size() / 2] ^= 1;
  folder_.Write(library_, bytes);
  EXPECT_THAT(MessageOf(Load()), AllOf(HasSubstr(library_), HasSubstr("sha256 is")));
}

TEST_F(ArtifactFaults, ACutOrMissingOrForeignLibraryIsNamed) {
  const std::string whole = ReadWholeFile(folder_ / library_);
  const std::string hash = Sha256(whole);
  folder_.Write(library_, whole.substr(0, whole.size() / 3));
  EXPECT_THAT(MessageOf(Load()), HasSubstr("sha256 is"));
  RecordHash(library_, hash);  // somebody meant it
  EXPECT_THAT(MessageOf(Load()), HasSubstr("no whole shared object"));
  fs::remove(folder_ / library_);
  EXPECT_THAT(MessageOf(Load()), AllOf(HasSubstr(library_), HasSubstr("it can't be read")));
}

TEST_F(ArtifactFaults, ALibraryOfAnotherBucketOrOfNobodyIsRefused) {
  const std::string hash = Sha256(ReadWholeFile(folder_ / library_));
  fs::copy_file(folder_ / "bucket_96_1.so", folder_ / library_,
                fs::copy_options::overwrite_existing);
  RecordHash(library_, hash);
  EXPECT_THAT(MessageOf(Load()), HasSubstr("of another bucket"));
}

TEST_F(ArtifactFaults, ALibraryOfNobodyIsRefused) {
  folder_.Write("nobody.c", "int hello(void) { return 1; }\n");
  const std::string hash = Sha256(ReadWholeFile(folder_ / library_));
  const std::string command =
      "gcc -shared -fPIC -o " + folder_ / library_ + " " + folder_ / "nobody.c";
  ASSERT_EQ(std::system(command.c_str()), 0);
  RecordHash(library_, hash);
  EXPECT_THAT(MessageOf(Load()), HasSubstr("no library of hstu compile"));
}

TEST_F(ArtifactFaults, DamagedWeightsAreFound) {
  std::string bytes = ReadWholeFile(folder_ / "weights.bin");
  bytes[100] ^= 1;
  folder_.Write("weights.bin", bytes);
  EXPECT_THAT(MessageOf(Load()), AllOf(HasSubstr("weights.bin"), HasSubstr("xxh3 is")));
  folder_.Write("weights.bin", bytes.substr(1));
  EXPECT_THAT(MessageOf(Load()), HasSubstr("bytes, expected"));
  fs::remove(folder_ / "weights.bin");
  EXPECT_THAT(MessageOf(Load()), HasSubstr("it can't be read"));
}

TEST_F(ArtifactFaults, MetadataThatIsMissingOrBrokenIsNamed) {
  folder_.Write("metadata.json", "{\"version\": 1");
  EXPECT_THAT(MessageOf(Load()), HasSubstr("metadata.json"));
  fs::remove(folder_ / "metadata.json");
  EXPECT_THAT(MessageOf(Load()), HasSubstr("metadata.json"));
}

TEST_F(ArtifactFaults, AnotherModelIsRefused) {
  EngineOptions options;
  options.artifacts = folder_.path();
  const Result<Engine> engine = Engine::Load(LoadGolden("groups").model, options);
  EXPECT_THAT(MessageOf(engine), AllOf(HasSubstr("model_fingerprint is"), HasSubstr("expected")));
}

TEST_F(ArtifactFaults, AnotherAbiOrProcessorIsRefused) {
  const std::string metadata = ReadWholeFile(folder_ / "metadata.json");
  const size_t target = metadata.find("x86-64-v");
  ASSERT_NE(target, std::string::npos);
  const std::string name = metadata.substr(target, 9);
  Replace("metadata.json", name, "sparc-v9x");
  EXPECT_THAT(MessageOf(Load()), HasSubstr("target is sparc-v9x"));
  Replace("metadata.json", "sparc-v9x", name == "x86-64-v3" ? "x86-64-v4" : "x86-64-v3");
  EngineOptions options;
  options.isa = name == "x86-64-v3" ? "avx2" : "avx512";
  EXPECT_THAT(MessageOf(Load(options)), HasSubstr("target is x86-64-v"));
  folder_.Write("metadata.json", metadata);
  Replace("metadata.json", "\"abi\": \"", "\"abi\": \"x");
  EXPECT_THAT(MessageOf(Load()), HasSubstr("abi is x"));
}

TEST_F(ArtifactFaults, OtherTypesAndPagesAreRefusedWithTheCommandForThem) {
  EngineOptions options;
  options.dtype = "bf16";
  EXPECT_THAT(MessageOf(Load(options)),
              AllOf(HasSubstr("dtype is f32, expected bf16"), HasSubstr("--dtype bf16")));
  options.dtype = "f32";
  options.kv_dtype = "int8";
  EXPECT_THAT(MessageOf(Load(options)),
              AllOf(HasSubstr("kv_dtype is f32, expected int8"), HasSubstr("--kv-dtype int8")));
  options.kv_dtype = "f32";
  options.page_size = 64;
  EXPECT_THAT(MessageOf(Load(options)),
              AllOf(HasSubstr("page_size is 32, expected 64"), HasSubstr("--page-size 64")));
}

TEST_F(ArtifactFaults, OptionalOnesAreLeftOutWithAWarning) {
  fs::remove(folder_ / library_);
  EngineOptions options;
  options.artifacts_optional = true;
  Result<Engine> engine = Load(options);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  EXPECT_THAT(engine->stats().artifacts_error, HasSubstr(library_));
  EXPECT_TRUE(engine->stats().buckets.empty());
  EXPECT_FALSE(engine->Rank(golden_.requests)[0].error.has_value());
}

// What was whole when the engine was loaded, and is gone when a bucket is first needed.
TEST_F(ArtifactFaults, ALibraryThatGoesAwayLaterIsAMiss) {
  EngineOptions options;
  options.preload = "none";
  Result<Engine> engine = Load(options);
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
    fs::remove(entry.path());
  }
  const std::vector<Answer> answers = engine->Rank(golden_.requests);
  EXPECT_FALSE(answers[0].error.has_value());
  EXPECT_EQ(engine->stats().artifact_hits, 0);
  EXPECT_GT(engine->stats().artifact_misses, 0);
}

TEST(Rebuild, MakesOnlyWhatChanged) {
  const GoldenCase golden = LoadGolden("plain");
  TestFolder folder;
  CompileOptions options = SmallBuckets(golden.model, "rebuild");
  options.out = folder / "artifacts";
  const CompileReport first = Compile(options);
  EXPECT_GT(first.objects, 6);
  EXPECT_EQ(first.libraries, 4);
  EXPECT_FALSE(first.weights_reused);

  const CompileReport again = Compile(options);
  EXPECT_EQ(again.objects, 0);
  EXPECT_EQ(again.libraries, 0);
  EXPECT_TRUE(again.weights_reused);

  options.seq_lens.push_back(200);
  const CompileReport grown = Compile(options);
  EXPECT_EQ(grown.objects, 2);  // of the buckets
  EXPECT_EQ(grown.libraries, 2);

  folder.Write("artifacts/bucket_40_1.so", "torn");
  EXPECT_EQ(Compile(options).libraries, 1);

  // Products know nothing of pages.
  options.page_size = 64;
  const CompileReport changed = Compile(options);
  EXPECT_EQ(changed.objects, 2);  // attention, and the file with what writes pages
  EXPECT_EQ(changed.libraries, 6);

  // A folder may have more than artifacts: only what a run made goes.
  folder.Write("artifacts/bucket_list.txt", "somebody's");
  folder.Write("artifacts/build/build.ninja", "somebody's");
  folder.Write("artifacts/build/rows.o", "somebody's");
  options.seq_lens = {40};
  Compile(options);
  EXPECT_FALSE(fs::exists(folder / "artifacts/bucket_96_1.so"));
  int buckets = 0;  // objects of buckets that are left
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "artifacts/build")) {
    const std::string name = entry.path().filename().string();
    buckets += name.starts_with("bucket_") && name.ends_with(".o") ? 1 : 0;
  }
  EXPECT_EQ(buckets, 2);
  for (const char* stranger : {"bucket_list.txt", "build/build.ninja", "build/rows.o"}) {
    EXPECT_TRUE(fs::exists(fs::path(folder / "artifacts") / stranger)) << stranger;
  }
}

TEST(Rebuild, RefusesWhatCannotBeMeant) {
  const GoldenCase golden = LoadGolden("plain");
  CompileOptions options = SmallBuckets(golden.model, "refused");
  options.target = "pdp-11";
  EXPECT_THAT(CompileModel(options).error().message, HasSubstr("x86-64-v3"));
  options.target = "native";
  options.seq_lens = {0};
  EXPECT_THAT(CompileModel(options).error().message, HasSubstr("seq-len 0"));
}

}  // namespace
}  // namespace hstu
