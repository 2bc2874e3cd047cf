#include "cli/json_output.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/standard_output.h"

namespace hstu {

void AddJsonOption(CLI::App& app, std::string& file) {
  app.add_option_function<std::string>(
         "--json", [&file](const std::string& value) { file = value.empty() ? "-" : value; },
         "write the result as JSON to FILE; without FILE, or -, to standard output")
      ->expected(0, 1)
      ->type_name("[FILE]");
}

Status WriteJson(const nlohmann::ordered_json& value, const std::string& file) {
  const std::string text =
      value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (file == "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(text));
    return FlushStandardOutput();
  }
  return WriteWholeFile(file, text);
}

}  // namespace hstu
