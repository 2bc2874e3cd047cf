// hstu preprocess: the logs of a dataset into processed CSV files.
#include "data/preprocess.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/standard_output.h"

namespace hstu {
namespace {

struct PreprocessArguments {
  PreprocessOptions options;
  std::string dataset;
  bool training = false;
  bool inference = false;
  std::string compat;
  std::string user_features;
};

Result<int> RunPreprocess(const PreprocessArguments& arguments) {
  PreprocessOptions options = arguments.options;
  for (const auto& [name, dataset] : RawDatasetNames()) {
    if (name == arguments.dataset) options.dataset = dataset;
  }
  const bool both = !arguments.training && !arguments.inference;
  options.training = arguments.training || both;
  options.inference = arguments.inference || both;
  options.order_by_item = !arguments.compat.empty();
  if (!arguments.user_features.empty()) options.user_features = arguments.user_features;
  HSTU_ASSIGN_OR_RETURN(const PreprocessReport report, Preprocess(options));
  std::string text = fmt::format("{} interactions\n", report.interactions);
  for (const PreprocessReport::File& file : report.files) {
    text += fmt::format("{}: {} rows\n", file.path, file.rows);
  }
  HSTU_RETURN_IF_ERROR(WriteStandardOutput(text));
  HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  return kExitOk;
}

}  // namespace

Runner AddPreprocess(CLI::App& app) {
  auto arguments = std::make_shared<PreprocessArguments>();
  PreprocessOptions& options = arguments->options;
  std::vector<std::string> names;
  for (const auto& [name, dataset] : RawDatasetNames()) names.push_back(name);
  app.add_option("--dataset", arguments->dataset, "whose files, or kuairand: any logs of its kind")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("--data-dir", options.data_dir, "what the dataset's archive unpacks to");
  app.add_option("--log", options.logs, "a log, in the order of time; repeatable (kuairand)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--user-features", arguments->user_features, "features of users (kuairand)");
  app.add_option("--out-dir", options.out_dir,
                 "folder for the processed files; that of the first log by default");
  app.add_flag("--training", arguments->training, "write processed_seqs.csv");
  app.add_flag("--inference", arguments->inference,
               "write processed_seqs_inference.csv and processed_batches.csv");
  app.add_option("--batch-ts-interval", options.batch_interval,
                 "seconds from the first interaction of a batch to that of the next")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option(
         "--compat", arguments->compat,
         "recsys-examples: order a user's MovieLens inference items by movie id, as it does")
      ->check(CLI::IsMember({"recsys-examples"}));
  app.add_option("--threads", options.threads, "threads; more than two are of no use here")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  return [arguments] { return RunPreprocess(*arguments); };
}

}  // namespace hstu
