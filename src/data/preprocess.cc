#include "data/preprocess.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "data/interaction_runs.h"
#include "data/log_parser.h"
#include "data/record_blocks.h"
#include "data/sequence_files.h"
#include "data/user_features.h"

namespace hstu {
namespace {

bool IsMovieLens(RawDataset dataset) {
  return dataset == RawDataset::kMovieLens1M || dataset == RawDataset::kMovieLens20M;
}

LogFormat LogFormatOf(RawDataset dataset) {
  if (dataset == RawDataset::kMovieLens1M) return MovieLens1MLog();
  return dataset == RawDataset::kMovieLens20M ? MovieLens20MLog() : KuaiRandLog();
}

UserFeaturesFormat FeaturesFormatOf(RawDataset dataset) {
  return dataset == RawDataset::kMovieLens1M ? MovieLens1MUserFeatures() : KuaiRandUserFeatures();
}

Result<RawFiles> ChooseFiles(const PreprocessOptions& options) {
  bool named = !options.logs.empty() || options.user_features.has_value();
  if (named && options.dataset != RawDataset::kKuaiRand) {
    return MakeError(ErrorCode::kBadArgument,
                     "--log and --user-features go with --dataset kuairand; other datasets have "
                     "files of their own, which are found in --data-dir");
  }
  if (options.logs.empty() && options.data_dir.empty()) {
    return MakeError(ErrorCode::kBadArgument, "give --data-dir DIR{}",
                     options.dataset == RawDataset::kKuaiRand ? ", or --log FILE" : "");
  }
  RawFiles files;
  if (options.logs.empty()) {
    HSTU_ASSIGN_OR_RETURN(files, FindRawFiles(options.dataset, options.data_dir));
  } else {
    files.logs = options.logs;
  }
  if (options.user_features) files.user_features = options.user_features;
  return files;
}

Result<std::string> MakeOutFolder(const PreprocessOptions& options, const RawFiles& files) {
  std::filesystem::path folder = options.out_dir.empty()
                                     ? std::filesystem::path(files.logs.front()).parent_path()
                                     : std::filesystem::path(options.out_dir);
  if (folder.empty()) folder = ".";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return MakeError(ErrorCode::kIo, "folder {} can't be made: {}", folder.string(),
                     error.message());
  }
  return folder.string();
}

// Reads one log into the runs, as number `index`.
Status ReadLog(const std::string& path, int index, const LogFormat& format, int threads,
               InteractionRuns* runs, std::int64_t* interactions) {
  HSTU_ASSIGN_OR_RETURN(RecordBlocks blocks, RecordBlocks::Open(path));
  Progress progress(path, blocks.file().bytes_on_disk() >> 20, "MB");
  std::optional<LogParser> parser;
  std::vector<Interaction> rows;
  std::int64_t before = *interactions;
  for (RecordBlock block;;) {
    HSTU_ASSIGN_OR_RETURN(bool more, blocks.Next(&block));
    if (!more) break;
    if (!parser) {
      std::string_view header =
          format.has_header ? block.text.substr(0, RecordEnd(block.text)) : std::string_view();
      HSTU_ASSIGN_OR_RETURN(parser, LogParser::Create(path, format, header));
      block.text.remove_prefix(header.size());
      block.first_line += std::count(header.begin(), header.end(), '\n');
    }
    rows.clear();
    HSTU_RETURN_IF_ERROR(ParseInParallel(*parser, block, threads, &rows));
    HSTU_RETURN_IF_ERROR(runs->Append(index, rows));
    *interactions += static_cast<std::int64_t>(rows.size());
    progress.Update(blocks.file().bytes_consumed() >> 20);
  }
  if (*interactions == before) {
    return MakeError(ErrorCode::kBadData, "{}:1: the log holds no interactions; leave it out",
                     path);
  }
  return {};
}

// Users that are in every log.
Status WriteTraining(const InteractionRuns& runs, int logs, TrainingWriter* writer) {
  UserWalk walk(runs, 0, logs);
  for (;;) {
    HSTU_ASSIGN_OR_RETURN(bool more, walk.Next());
    if (!more) return {};
    if (static_cast<int>(walk.parts().size()) == logs) {
      HSTU_RETURN_IF_ERROR(writer->Add(walk.ByTime()));
    }
  }
}

// Gives a writer one user's rows of one log in the pieces and the order of the inference files:
// whole or day by day, by time or (as recsys-examples does) by item.
class InferenceOrder {
 public:
  InferenceOrder(bool by_date, bool by_item) : by_date_(by_date), by_item_(by_item) {}

  template <typename Writer>
  Status Add(std::span<const Interaction> rows, Writer* writer) {
    if (by_date_) return AddDays(rows, writer);
    if (!by_item_) return writer->Add(rows);
    return writer->Add(Sorted(rows, [](const Interaction& a, const Interaction& b) {
      return std::tie(a.item, a.time, a.action) < std::tie(b.item, b.time, b.action);
    }));
  }

 private:
  template <typename Writer>
  Status AddDays(std::span<const Interaction> rows, Writer* writer) {
    auto earlier = [](const Interaction& a, const Interaction& b) { return a.date < b.date; };
    rows = Sorted(rows, earlier);
    while (!rows.empty()) {
      auto end = std::upper_bound(rows.begin(), rows.end(), rows.front(), earlier);
      auto day = rows.first(static_cast<std::size_t>(end - rows.begin()));
      HSTU_RETURN_IF_ERROR(writer->Add(day));
      rows = rows.subspan(day.size());
    }
    return {};
  }

  template <typename Less>
  std::span<const Interaction> Sorted(std::span<const Interaction> rows, Less less) {
    if (std::is_sorted(rows.begin(), rows.end(), less)) return rows;
    scratch_.assign(rows.begin(), rows.end());
    std::stable_sort(scratch_.begin(), scratch_.end(), less);
    return scratch_;
  }

  bool by_date_;
  bool by_item_;
  std::vector<Interaction> scratch_;
};

// A user's rows stand together, by log; users stand where the first log that has them puts them.
Status WriteInference(const InteractionRuns& runs, int logs, InferenceOrder order,
                      InferenceWriter* writer) {
  std::vector<std::int64_t> users_of_first_log(static_cast<std::size_t>(logs));
  for (int first = 0; first < logs; ++first) {
    // Nearly always the first log has all users, and the others need not be walked for.
    if (first > 0 && users_of_first_log[static_cast<std::size_t>(first)] == 0) continue;
    UserWalk walk(runs, 0, logs);
    for (;;) {
      HSTU_ASSIGN_OR_RETURN(bool more, walk.Next());
      if (!more) break;
      int first_of_user = walk.parts().front().log;
      if (first == 0) ++users_of_first_log[static_cast<std::size_t>(first_of_user)];
      if (first_of_user != first) continue;
      for (const LogPart& part : walk.parts()) {
        HSTU_RETURN_IF_ERROR(order.Add(part.rows, writer));
      }
    }
  }
  return {};
}

// By log, then user.
Status WriteBatches(const InteractionRuns& runs, int logs, InferenceOrder order,
                    BatchesWriter* writer) {
  for (int log = 0; log < logs; ++log) {
    UserWalk walk(runs, log, log + 1);
    for (;;) {
      HSTU_ASSIGN_OR_RETURN(bool more, walk.Next());
      if (!more) break;
      HSTU_RETURN_IF_ERROR(order.Add(walk.parts().front().rows, writer));
    }
  }
  return {};
}

Status CommitAll(const std::vector<SequenceFile*>& files, PreprocessReport* report) {
  for (SequenceFile* file : files) {
    HSTU_RETURN_IF_ERROR(file->Commit());
    report->files.push_back({file->path(), file->rows()});
  }
  return {};
}

Status WriteFiles(const PreprocessOptions& options, const std::string& out, int logs,
                  const InteractionRuns& runs, const UserFeatures* features,
                  PreprocessReport* report) {
  SequenceLayout layout = IsMovieLens(options.dataset) ? MovieLensLayout() : KuaiRandLayout();
  InferenceOrder order(layout.by_date, options.order_by_item);
  std::int64_t interval = options.batch_interval * layout.units_a_second;
  std::optional<TrainingWriter> training;
  std::optional<InferenceWriter> inference;
  std::optional<BatchesWriter> batches;
  std::vector<SequenceFile*> files;
  if (options.training) {
    HSTU_ASSIGN_OR_RETURN(training, TrainingWriter::Create(out, layout, features));
    files.push_back(&training->file());
  }
  if (options.inference) {
    HSTU_ASSIGN_OR_RETURN(inference, InferenceWriter::Create(out, layout, features, interval));
    HSTU_ASSIGN_OR_RETURN(batches, BatchesWriter::Create(out, layout, interval));
    files.push_back(&inference->file());
    files.push_back(&batches->file());
  }
  auto policy = options.threads > 1 ? std::launch::async : std::launch::deferred;
  std::future<Status> beside = std::async(
      policy, [&] { return training ? WriteTraining(runs, logs, &*training) : Status(); });
  Status status;
  if (inference) status = WriteInference(runs, logs, order, &*inference);
  if (status.ok() && batches) status = WriteBatches(runs, logs, order, &*batches);
  HSTU_RETURN_IF_ERROR(beside.get());
  HSTU_RETURN_IF_ERROR(std::move(status));
  return CommitAll(files, report);
}

}  // namespace

Result<PreprocessReport> Preprocess(const PreprocessOptions& options) {
  HSTU_ASSIGN_OR_RETURN(RawFiles files, ChooseFiles(options));
  std::optional<UserFeatures> features;
  if (files.user_features) {
    HSTU_ASSIGN_OR_RETURN(
        features, UserFeatures::Load(*files.user_features, FeaturesFormatOf(options.dataset)));
  }
  HSTU_ASSIGN_OR_RETURN(std::string out, MakeOutFolder(options, files));
  RunLimits limits = options.limits;
  if (limits.spill_folder.empty()) limits.spill_folder = out;
  InteractionRuns runs(limits);
  PreprocessReport report;
  int logs = 0;
  for (const std::string& path : files.logs) {
    HSTU_RETURN_IF_ERROR(ReadLog(path, logs++, LogFormatOf(options.dataset), options.threads, &runs,
                                 &report.interactions));
  }
  HSTU_RETURN_IF_ERROR(runs.Finish());
  HSTU_RETURN_IF_ERROR(
      WriteFiles(options, out, logs, runs, features ? &*features : nullptr, &report));
  return report;
}

}  // namespace hstu
