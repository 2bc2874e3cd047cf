// hstu init: a random model from a config.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "model/config.h"
#include "model/init_model.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

struct InitArguments {
  std::string config;
  std::string out;
  std::uint64_t seed = 1;
  std::string dtype = "f32";
  std::string table_dtype;  // empty: as dtype
};

// The config names its vocabularies, so they lie beside it; the model needs them too.
Status CopyVocabularies(const ModelConfig& config, const fs::path& from, const fs::path& to) {
  std::error_code ignored;  // what keeps the folder from being made is told where it is written to
  fs::create_directories(to, ignored);
  for (const EmbeddingTable& table : config.embedding_tables) {
    if (table.vocabulary.empty()) continue;
    std::error_code failed;
    if (fs::equivalent(from / table.vocabulary, to / table.vocabulary, failed)) continue;
    fs::copy_file(from / table.vocabulary, to / table.vocabulary,
                  fs::copy_options::overwrite_existing, failed);
    if (failed) {
      return MakeError(ErrorCode::kIo, "{}: copying the vocabulary of table \"{}\" failed: {}",
                       (from / table.vocabulary).string(), table.name, failed.message());
    }
  }
  return {};
}

Result<int> RunInit(const InitArguments& arguments) {
  HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(arguments.config));
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ParseConfig(file.text(), arguments.config));
  InitOptions options;
  options.seed = arguments.seed;
  options.dtype = *DTypeFromName(arguments.dtype);
  options.table_dtype =
      arguments.table_dtype.empty() ? options.dtype : *DTypeFromName(arguments.table_dtype);
  HSTU_RETURN_IF_ERROR(
      CopyVocabularies(config, fs::path(arguments.config).parent_path(), arguments.out));
  HSTU_RETURN_IF_ERROR(WriteRandomModel(config, options, arguments.out));
  return kExitOk;
}

}  // namespace

Runner AddInit(CLI::App& app) {
  auto arguments = std::make_shared<InitArguments>();
  app.add_option("--config", arguments->config, "config.json of the model to make")->required();
  app.add_option("--out", arguments->out, "folder for the model; made where it is missing")
      ->required();
  app.add_option("--seed", arguments->seed, "the same seed gives the same bytes everywhere")
      ->capture_default_str();
  const CLI::IsMember types({"f32", "bf16", "f16"});
  app.add_option("--dtype", arguments->dtype, "type of the weights")
      ->check(types)
      ->capture_default_str();
  app.add_option("--dtype-tables", arguments->table_dtype,
                 "type of the embedding tables; that of the weights by default")
      ->check(types);
  return [arguments] { return RunInit(*arguments); };
}

}  // namespace hstu
