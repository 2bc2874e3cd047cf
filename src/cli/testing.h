// For tests: runs a command line in this process and keeps what it writes.
#ifndef HSTU_CLI_TESTING_H_
#define HSTU_CLI_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace hstu {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

inline Outcome RunHstu(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"hstu"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = RunCommandLine(static_cast<int>(argv.size()), argv.data());
  std::string out = testing::internal::GetCapturedStdout();
  std::string err = testing::internal::GetCapturedStderr();
  return {status, std::move(out), std::move(err)};
}

}  // namespace hstu

#endif  // HSTU_CLI_TESTING_H_
