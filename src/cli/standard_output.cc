#include "cli/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace hstu {
namespace {

Error Failed() {
  return MakeError(ErrorCode::kIo, "standard output: writing it failed: {}", std::strerror(errno));
}

}  // namespace

Status WriteStandardOutput(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return Failed();
  return {};
}

Status FlushStandardOutput() {
  if (std::fflush(stdout) != 0) return Failed();
  return {};
}

}  // namespace hstu
