#include "kernels/operator_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "hstu/operator.h"
#include "kernels/operators.h"

// What a library's add fills.
struct hstuOperatorSink {
  std::string file;
  hstu::OperatorRegistry* registry;
  hstu::Status status;
};

namespace hstu {
namespace {

constexpr const char* kEntry = "hstuRegisterOperators";

bool IsName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

Status CheckOperator(const hstuRowOperator* op, const std::string& file) {
  if (op == nullptr || op->structSize < sizeof(hstuRowOperator) || op->name == nullptr ||
      !IsName(op->name)) {
    return MakeError(ErrorCode::kBadArgument,
                     "{}: an operator without a name of letters, digits and '_', or of a smaller "
                     "struct than this version's",
                     file);
  }
  if (op->run == nullptr || op->numInputs < 1) {
    return MakeError(ErrorCode::kBadArgument, "{}: operator {} has no function, or no input", file,
                     op->name);
  }
  return {};
}

int AddRowOperator(hstuOperatorSink* sink, const hstuRowOperator* op) {
  sink->status = CheckOperator(op, sink->file);
  if (sink->status.ok()) {
    sink->status = sink->registry->Add({op->name,
                                        sink->file,
                                        op->summary == nullptr ? "" : op->summary,
                                        {{kLibraryVariant, reinterpret_cast<AnyFunction>(op->run)}},
                                        op->numInputs});
  }
  return sink->status.ok() ? 0 : 1;
}

Status LoadLibrary(const std::string& file, OperatorRegistry* registry) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return MakeError(ErrorCode::kIo, "operator library {}: {}", file, dlerror());
  }
  auto* entry = reinterpret_cast<hstuRegisterOperatorsFn*>(dlsym(library, kEntry));
  if (entry == nullptr) {
    return MakeError(ErrorCode::kBadArgument,
                     "{} is no operator library: it doesn't export {}; take it off the operator "
                     "path",
                     file, kEntry);
  }
  hstuOperatorSink sink{file, registry, {}};
  const int refused = entry(HSTU_OPERATOR_ABI, &sink, AddRowOperator);
  HSTU_RETURN_IF_ERROR(sink.status);
  if (refused != 0) {
    return MakeError(ErrorCode::kBadArgument,
                     "{} refused to register its operators for version {} of the interface", file,
                     HSTU_OPERATOR_ABI);
  }
  return {};
}

Status LoadFolder(const std::string& folder, OperatorRegistry* registry) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".so") files.push_back(at->path().string());
  }
  if (error) {
    return MakeError(ErrorCode::kIo, "operator path {}: {}", folder, error.message());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) HSTU_RETURN_IF_ERROR(LoadLibrary(file, registry));
  return {};
}

}  // namespace

std::string OperatorPath(std::string_view given) {
  const char* variable = std::getenv("HSTU_OPERATOR_PATH");
  if (!given.empty() || variable == nullptr) return std::string(given);
  return variable;
}

Status LoadOperatorLibraries(std::string_view path, OperatorRegistry* registry) {
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    if (colon > 0) HSTU_RETURN_IF_ERROR(LoadFolder(std::string(path.substr(0, colon)), registry));
    path.remove_prefix(std::min(path.size(), colon + 1));
  }
  return {};
}

Result<OperatorRegistry> AllOperators(std::string_view given) {
  HSTU_ASSIGN_OR_RETURN(OperatorRegistry registry, BuiltinOperators());
  HSTU_RETURN_IF_ERROR(LoadOperatorLibraries(OperatorPath(given), &registry));
  return registry;
}

}  // namespace hstu
