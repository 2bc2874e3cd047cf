// Artifacts for tests: compiled once, and used again by the next run.
#ifndef HSTU_TESTS_ARTIFACTS_H_
#define HSTU_TESTS_ARTIFACTS_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "compile/build.h"

namespace hstu {

inline CompileOptions SmallBuckets(const std::string& model, const std::string& name) {
  CompileOptions options;
  options.model = model;
  options.out = std::string(HSTU_ARTIFACTS_DIR) + "/" + name;
  options.seq_lens = {40, 96};
  options.batches = {1, 3};
  options.threads = 2;
  return options;
}

inline CompileReport Compile(const CompileOptions& options) {
  const Result<CompileReport> report = CompileModel(options);
  if (!report.ok()) {
    ADD_FAILURE() << report.error().message;
    return {};
  }
  return report.value();
}

// A copy of what these options make, to be damaged.
inline void CompileInto(const CompileOptions& options, const std::string& folder) {
  Compile(options);
  for (const auto& entry : std::filesystem::directory_iterator(options.out)) {
    if (entry.is_regular_file()) std::filesystem::copy(entry.path(), folder);
  }
}

}  // namespace hstu

#endif  // HSTU_TESTS_ARTIFACTS_H_
