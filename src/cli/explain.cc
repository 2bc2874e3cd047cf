// hstu explain: a model's graph, what compiling fuses, and where it can't.
#include "compile/explain.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/standard_output.h"
#include "compile/build.h"

namespace hstu {
namespace {

struct ExplainArguments {
  std::string model;
  std::string kv_dtype;
  std::int64_t sp_size = 1;
  std::vector<std::string> fallback_ops;
  std::string json;
};

Result<int> RunExplain(const ExplainArguments& arguments) {
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(arguments.model));
  const Explanation explanation =
      Explain(config, arguments.sp_size, arguments.kv_dtype == "int8", arguments.fallback_ops);
  if (!arguments.json.empty()) HSTU_RETURN_IF_ERROR(WriteJson(ToJson(explanation), arguments.json));
  if (arguments.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(ToText(explanation)));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  return explanation.FallbackShare() > kMostFallbacks ? kExitFallbacks : kExitOk;
}

}  // namespace

Runner AddExplain(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  app.add_option("--model", arguments->model, "folder of the model")->required();
  app.add_option("--kv-dtype", arguments->kv_dtype, "type of K and V: f32, bf16, f16, int8")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}));
  app.add_option("--sp-size", arguments->sp_size, "ranks that share each user's K and V")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--fallback-ops", arguments->fallback_ops, "operators that stay built in")
      ->delimiter(',');
  AddJsonOption(app, arguments->json);
  return [arguments] { return RunExplain(*arguments); };
}

}  // namespace hstu
