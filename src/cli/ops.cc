// hstu ops: every operator, where it comes from, and its variants.
#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/standard_output.h"
#include "kernels/operator_library.h"
#include "kernels/operators.h"
#include "kernels/registry.h"

namespace hstu {
namespace {

nlohmann::ordered_json List(const OperatorRegistry& registry) {
  auto list = nlohmann::ordered_json::array();
  for (const OperatorInfo& info : registry.operators()) {
    auto variants = nlohmann::ordered_json::array();
    for (const OperatorVariant& variant : info.variants) variants.push_back(variant.name);
    list.push_back({{"name", info.name},
                    {"summary", info.summary},
                    {"origin", info.origin},
                    {"variants", std::move(variants)}});
  }
  return list;
}

std::string Text(const OperatorRegistry& registry, const std::string& path) {
  std::string text = fmt::format("operator path: {}\n", path.empty() ? "none" : path);
  for (const OperatorInfo& info : registry.operators()) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n  from {}\n  variants:", info.name,
                   info.summary, info.origin);
    for (const OperatorVariant& variant : info.variants) text += " " + variant.name;
    text += '\n';
  }
  return text;
}

struct OpsOptions {
  std::string json;
  std::string operator_path;
};

Result<int> RunOps(const OpsOptions& options) {
  const std::string path = OperatorPath(options.operator_path);
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, AllOperators(path));
  if (!options.json.empty()) HSTU_RETURN_IF_ERROR(WriteJson(List(registry), options.json));
  if (options.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(Text(registry, path)));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  return kExitOk;
}

}  // namespace

Runner AddOps(CLI::App& app) {
  auto options = std::make_shared<OpsOptions>();
  AddJsonOption(app, options->json);
  app.add_option("--operator-path", options->operator_path,
                 "folders of operator libraries, joined by ':'; by default HSTU_OPERATOR_PATH");
  return [options] { return RunOps(*options); };
}

}  // namespace hstu
