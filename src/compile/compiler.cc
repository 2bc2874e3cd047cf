#include "compile/compiler.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/process.h"

namespace hstu {
namespace {

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// The line that tells most of what went wrong.
std::string FirstError(std::string_view output) {
  for (std::size_t begin = 0; begin < output.size();) {
    std::string line = FirstLine(output.substr(begin));
    if (line.find("error") != std::string::npos) return line;
    begin += line.size() + 1;
  }
  return FirstLine(output);
}

}  // namespace

Result<Compiler> Compiler::Find(const std::string& folder) {
  const char* given = std::getenv("CXX");
  const std::string program = given != nullptr && *given != '\0' ? given : "g++";
  const Result<ProcessOutcome> version = RunProcess({program, "--version"});
  if (!version.ok() || version->status != 0) {
    return MakeError(ErrorCode::kIo,
                     "{}: there is no such compiler; compiling a model needs g++ 12 or newer and "
                     "libhwy-dev (apt-get install g++ libhwy-dev), running it needs neither",
                     program);
  }
  const std::string test = folder + "/highway.cc";
  std::ofstream(test) << "#include <hwy/highway.h>\n";
  HSTU_ASSIGN_OR_RETURN(const ProcessOutcome found,
                        RunProcess({program, "-std=c++20", "-E", "-o", "/dev/null", test}));
  std::error_code ignored;
  std::filesystem::remove(test, ignored);
  if (found.status != 0) {
    return MakeError(ErrorCode::kIo,
                     "{} finds no hwy/highway.h: compiling a model needs libhwy-dev (apt-get "
                     "install libhwy-dev), running it doesn't",
                     program);
  }
  return Compiler(program, FirstLine(version->output));
}

// Those of the built-in kernels, where they matter.
std::vector<std::string> Compiler::ObjectFlags(const Target& target) const {
  return {"-std=c++20",
          "-O3",
          "-ffp-contract=off",
          "-fPIC",
          "-ffunction-sections",
          "-fdata-sections",
          "-fvisibility=hidden",
          "-fvisibility-inlines-hidden",
          "-w",
          "-DHWY_COMPILE_ONLY_STATIC",
          "-DHWY_BASELINE_TARGETS=" + target.highway};
}

Status Compiler::CompileObject(const std::string& source, const std::string& includes,
                               const Target& target, const std::string& object) const {
  std::vector<std::string> command = {program_};
  for (const std::string& flag : ObjectFlags(target)) command.push_back(flag);
  for (const std::string& word :
       {std::string("-I" + includes), std::string("-c"), source, std::string("-o"), object}) {
    command.push_back(word);
  }
  return Run(command, source);
}

Status Compiler::Link(const std::vector<std::string>& objects, const std::string& library) const {
  std::vector<std::string> command = {program_,
                                      "-shared",
                                      "-Wl,--gc-sections",
                                      "-Wl,--as-needed",
                                      "-Wl,-z,defs",
                                      "-Wl,--build-id=none",
                                      "-s"};
  command.insert(command.end(), objects.begin(), objects.end());
  command.emplace_back("-o");
  command.push_back(library);
  return Run(command, library);
}

Status Compiler::Run(const std::vector<std::string>& command, const std::string& what) const {
  HSTU_ASSIGN_OR_RETURN(const ProcessOutcome outcome, RunProcess(command));
  if (outcome.status == 0) return {};
  return MakeError(ErrorCode::kIo, "{}: {} ended with status {}: {}", what, program_,
                   outcome.status, FirstError(outcome.output));
}

}  // namespace hstu
