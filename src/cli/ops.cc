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

std::string Text(const OperatorRegistry& registry) {
  std::string text;
  for (const OperatorInfo& info : registry.operators()) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n  from {}\n  variants:", info.name,
                   info.summary, info.origin);
    for (const OperatorVariant& variant : info.variants) text += " " + variant.name;
    text += '\n';
  }
  return text;
}

Result<int> RunOps(const std::string& json) {
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, BuiltinOperators());
  if (!json.empty()) HSTU_RETURN_IF_ERROR(WriteJson(List(registry), json));
  if (json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(Text(registry)));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  return kExitOk;
}

}  // namespace

Runner AddOps(CLI::App& app) {
  auto json = std::make_shared<std::string>();
  AddJsonOption(app, *json);
  return [json] { return RunOps(*json); };
}

}  // namespace hstu
