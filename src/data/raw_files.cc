#include "data/raw_files.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

struct Archive {
  std::string folder;  // where the archive puts the files
  std::vector<std::string> logs;
  std::string user_features;  // empty: the dataset has none
};

Archive KuaiRandArchive(const std::string& name, const std::string& suffix,
                        const std::vector<std::string>& parts) {
  Archive archive{name + "/data", {}, "user_features_" + suffix + ".csv"};
  for (const char* days : {"4_08_to_4_21", "4_22_to_5_08"}) {
    for (const std::string& part : parts) {
      archive.logs.push_back("log_standard_" + std::string(days) + "_" + suffix + part + ".csv");
    }
  }
  return archive;
}

Archive ArchiveOf(RawDataset dataset) {
  switch (dataset) {
    case RawDataset::kKuaiRandPure:
      return KuaiRandArchive("KuaiRand-Pure", "pure", {""});
    case RawDataset::kKuaiRand27K:
      return KuaiRandArchive("KuaiRand-27K", "27k", {"_part1", "_part2"});
    case RawDataset::kMovieLens1M:
      return {"ml-1m", {"ratings.dat"}, "users.dat"};
    case RawDataset::kMovieLens20M:
      return {"ml-20m", {"ratings.csv"}, ""};
    case RawDataset::kKuaiRand1K:
    case RawDataset::kKuaiRand:
      break;
  }
  return KuaiRandArchive("KuaiRand-1K", "1k", {""});
}

std::optional<std::string> FindFile(const std::vector<fs::path>& folders, const std::string& name) {
  for (const fs::path& folder : folders) {
    for (const char* compression : {"", ".gz", ".zst"}) {
      fs::path path = folder / (name + compression);
      if (fs::is_regular_file(path)) return path.string();
    }
  }
  return std::nullopt;
}

// Files of the folder whose names begin with `prefix`, CSV and sorted.
std::vector<std::string> FilesNamed(const fs::path& folder, const std::string& prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    bool csv = name.ends_with(".csv") || name.ends_with(".csv.gz") || name.ends_with(".csv.zst");
    if (csv && name.starts_with(prefix)) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<RawFiles> FindAnyLogs(const std::string& folder) {
  RawFiles files;
  for (const char* prefix : {"log_standard", "log"}) {
    if (files.logs.empty()) files.logs = FilesNamed(folder, prefix);
  }
  if (files.logs.empty()) {
    return MakeError(ErrorCode::kBadArgument,
                     "{} holds no log*.csv; name the logs with --log, in the order of time",
                     folder);
  }
  std::vector<std::string> features = FilesNamed(folder, "user_features");
  if (features.size() > 1) {
    return MakeError(ErrorCode::kBadArgument,
                     "{} holds {} user_features files; choose one with --user-features", folder,
                     features.size());
  }
  if (!features.empty()) files.user_features = features.front();
  return files;
}

}  // namespace

const std::vector<std::pair<std::string, RawDataset>>& RawDatasetNames() {
  static const std::vector<std::pair<std::string, RawDataset>> kNames = {
      {"kuairand", RawDataset::kKuaiRand},      {"kuairand-pure", RawDataset::kKuaiRandPure},
      {"kuairand-1k", RawDataset::kKuaiRand1K}, {"kuairand-27k", RawDataset::kKuaiRand27K},
      {"ml-1m", RawDataset::kMovieLens1M},      {"ml-20m", RawDataset::kMovieLens20M}};
  return kNames;
}

Result<RawFiles> FindRawFiles(RawDataset dataset, const std::string& folder) {
  if (!fs::is_directory(folder)) {
    return MakeError(ErrorCode::kBadArgument,
                     "--data-dir {} is no folder; give the one that the dataset was unpacked to",
                     folder);
  }
  if (dataset == RawDataset::kKuaiRand) return FindAnyLogs(folder);
  Archive archive = ArchiveOf(dataset);
  std::vector<fs::path> folders = {fs::path(folder) / archive.folder, fs::path(folder) / "data",
                                   fs::path(folder)};
  RawFiles files;
  auto missing = [&](const std::string& name) {
    return MakeError(ErrorCode::kBadArgument,
                     "{} (or .gz, .zst) is neither in {} nor in its {} or data; give the folder "
                     "that the dataset was unpacked to",
                     name, folder, archive.folder);
  };
  for (const std::string& name : archive.logs) {
    std::optional<std::string> path = FindFile(folders, name);
    if (!path) return missing(name);
    files.logs.push_back(*path);
  }
  if (!archive.user_features.empty()) {
    files.user_features = FindFile(folders, archive.user_features);
    if (!files.user_features) return missing(archive.user_features);
  }
  return files;
}

}  // namespace hstu
