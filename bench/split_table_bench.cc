// What ranks that share a table map, and what gets resident when 1 % of its rows are looked up. The
// table is a sparse file: split_table_bench [rows] [columns]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "model/config.h"
#include "model/tensor_list.h"
#include "model/weights.h"

namespace hstu {
namespace {

namespace fs = std::filesystem;

struct FileMemory {
  int64_t mapped = 0;
  int64_t resident = 0;
};

// Of the mappings of a file, as the system counts them.
FileMemory MemoryOf(const std::string& path) {
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  FileMemory memory;
  bool inside = false;
  while (std::getline(smaps, line)) {
    const bool is_field = line.find("kB") != std::string::npos;
    if (!is_field && line.find('-') < line.find(' ')) inside = line.ends_with(path);
    if (!inside) continue;
    if (line.starts_with("Size:")) memory.mapped += std::atoll(line.c_str() + 5) * 1024;
    if (line.starts_with("Rss:")) memory.resident += std::atoll(line.c_str() + 4) * 1024;
  }
  return memory;
}

std::string ConfigText(int64_t rows, int64_t columns) {
  return fmt::format(
      R"({{"architecture": "hstu_ranking", "hidden_size": {}, "num_layers": 1,
          "num_attention_heads": 1, "kv_channels": 16, "layernorm_epsilon": 1e-5,
          "attention": "silu", "scaling_seqlen": 4096, "max_history_tokens": 4096,
          "max_num_candidates": 512, "num_position_buckets": 16, "item_feature": "item",
          "action_feature": null, "contextual_features": [],
          "embedding_tables": [{{"name": "item", "num_embeddings": {}, "features": ["item"]}}],
          "prediction_head_arch": [8], "prediction_head_bias": true}})",
      columns, rows);
}

// A model of zeros that takes no room on the disk.
bool WriteSparseModel(const std::string& folder, int64_t rows, int64_t columns) {
  const std::string text = ConfigText(rows, columns);
  const Result<ModelConfig> config = ParseConfig(text, "config");
  if (!config.ok()) return false;
  fs::create_directories(folder);
  std::ofstream(folder + "/config.json") << text;
  nlohmann::ordered_json header;
  int64_t end = 0;
  for (const TensorSpec& spec : ListTensors(config.value())) {
    const int64_t begin = end;
    end += spec.num_elements() * static_cast<int64_t>(sizeof(float));
    header[spec.name] = {{"dtype", "F32"}, {"shape", spec.shape}, {"data_offsets", {begin, end}}};
  }
  const std::string json = header.dump();
  const uint64_t size = json.size();
  const std::string path = folder + "/model.safetensors";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&size), sizeof(size))
      .write(json.data(), static_cast<std::streamsize>(json.size()));
  fs::resize_file(path, sizeof(size) + size + end);
  return true;
}

// In a process of its own, as ranks are: its part of 1 % of all rows.
int RunRank(const std::string& folder, int64_t ranks, int64_t rank) {
  ModelPart part;
  part.table_ranks = ranks;
  part.table_rank = rank;
  const Result<ModelFiles> model = ModelFiles::Load(folder, part);
  if (!model.ok()) {
    fmt::print(stderr, "{}\n", model.error().message);
    return 1;
  }
  const WeightView& table = model->item().weight;
  const RowSplit split{table.shape[0], ranks};
  const auto row_bytes = static_cast<int64_t>(table.bytes().size()) / table.shape[0];
  std::mt19937_64 random(1);
  int64_t own = 0;
  float sum = 0.0f;
  for (int64_t i = 0; i < table.shape[0] / 100; ++i) {
    const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(table.shape[0]));
    if (split.OwnerOf(row) != rank) continue;
    ++own;
    for (int64_t column = 0; column < table.shape[1]; ++column) {
      sum += LoadFloat(table.dtype, table.data + row * row_bytes + column * 4);
    }
  }
  const FileMemory memory = MemoryOf(model->weights_file().path());
  fmt::print("| {} | {} | {} | {:.1f} | {:.1f} |\n", ranks, rank, own,
             static_cast<double>(memory.mapped) / (1 << 20),
             static_cast<double>(memory.resident) / (1 << 20));
  std::fflush(stdout);
  return sum == 0.0f ? 0 : 1;
}

int Main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const int64_t columns = argc > 2 ? std::atoll(argv[2]) : 512;
  const std::string folder =
      fs::temp_directory_path().string() + fmt::format("/split_table_bench.{}", getpid());
  if (!WriteSparseModel(folder, rows, columns)) return 1;
  fmt::print("{} rows of {} floats, 1 % looked up\n\n", rows, columns);
  fmt::print("| ranks | rank | rows looked up | mapped MiB | resident MiB |\n");
  fmt::print("| ---: | ---: | ---: | ---: | ---: |\n");
  std::fflush(stdout);
  int failed = 0;
  for (const int64_t ranks : {1, 2, 4}) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(RunRank(folder, ranks, rank));
      int status = 0;
      waitpid(child, &status, 0);
      failed |= status;
    }
  }
  fs::remove_all(folder);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hstu

int main(int argc, char** argv) { return hstu::Main(argc, argv); }
