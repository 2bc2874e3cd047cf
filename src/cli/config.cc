// hstu config: a gin file of recsys-examples or cann-recipes-infer into a config.json.
#include "model/config.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/standard_output.h"
#include "data/gin.h"
#include "data/gin_config.h"

namespace hstu {
namespace {

struct ConfigArguments {
  std::string gin;
  std::optional<std::int64_t> scaling_seqlen;
  std::string out;
};

Result<int> RunConfig(const ConfigArguments& arguments) {
  HSTU_ASSIGN_OR_RETURN(const GinFile gin, ReadGin(arguments.gin));
  HSTU_ASSIGN_OR_RETURN(const GinConversion made,
                        ConfigFromGin(gin, arguments.gin, arguments.scaling_seqlen));
  // What the file asks for may be more than a model can be.
  HSTU_ASSIGN_OR_RETURN(const ModelConfig checked, ParseConfig(made.json, arguments.gin));
  (void)checked;
  for (const std::string& warning : made.warnings) fmt::print(stderr, "hstu: {}\n", warning);
  if (arguments.out.empty()) {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(made.json));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
    return kExitOk;
  }
  HSTU_RETURN_IF_ERROR(WriteWholeFile(arguments.out, made.json));
  return kExitOk;
}

}  // namespace

Runner AddConfig(CLI::App& app) {
  auto arguments = std::make_shared<ConfigArguments>();
  app.add_option("--gin", arguments->gin, "gin file of recsys-examples or cann-recipes-infer")
      ->required();
  app.add_option("--scaling-seqlen", arguments->scaling_seqlen,
                 "the divisor of attention, whatever the file says")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  app.add_option("--out", arguments->out, "file for the config; standard output by default");
  return [arguments] { return RunConfig(*arguments); };
}

}  // namespace hstu
