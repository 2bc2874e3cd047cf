#include "cli/profile.h"

#include <cstdio>

#include "base/atomic_file.h"
#include "base/error.h"

namespace hstu {

void AddProfileOption(CLI::App& app, std::string& file, EngineOptions& options) {
  app.add_option_function<std::string>(
         "--profile",
         [&file, &options](const std::string& value) {
           file = value;
           options.profile = true;
         },
         "write a Chrome trace of every operator's calls (Perfetto opens it), and a table to "
         "stderr")
      ->type_name("FILE")
      ->group("Engine");
}

Status WriteProfile(const Engine& engine, const std::string& file) {
  if (file.empty()) return {};
  HSTU_RETURN_IF_ERROR(WriteWholeFile(file, engine.ProfileTrace()));
  const std::string table = engine.ProfileTable();
  std::fwrite(table.data(), 1, table.size(), stderr);
  return {};
}

}  // namespace hstu
