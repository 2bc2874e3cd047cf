// What is accepted: a model's artifacts, loaded beside the built-in path.
#ifndef HSTU_ACCEPT_SUBJECT_H_
#define HSTU_ACCEPT_SUBJECT_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "accept/acceptance.h"
#include "base/cpu.h"
#include "compile/eager.h"
#include "compile/metadata.h"
#include "hstu/hstu.hpp"
#include "model/config.h"

namespace hstu {

struct Subject {
  const AcceptanceOptions& options;
  std::span<const Request> requests;
  ModelConfig config;
  Metadata metadata;
  Isa isa = Isa::kScalar;  // of the artifacts
  int threads = 1;

  // Errors are those of the artifacts' and the model's files; kBadData where none of the requests
  // is usable (see engine/warm_up.h).
  static Result<Subject> Open(const AcceptanceOptions& options, std::span<const Request> requests);

  // Then differences are relative to the request's largest logit.
  bool f32() const { return metadata.dtype == "f32" && metadata.kv_dtype == "f32"; }

  // An engine of the artifacts' types; `compiled`: with the artifacts.
  Result<Engine> Load(bool compiled, bool kv_cache) const;
  Result<std::unique_ptr<Eager>> LoadEager() const;
  EngineOptions OptionsOf(bool compiled, bool kv_cache) const;
};

}  // namespace hstu

#endif  // HSTU_ACCEPT_SUBJECT_H_
