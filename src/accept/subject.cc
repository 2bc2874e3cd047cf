#include "accept/subject.h"

#include "base/error.h"
#include "base/mapped_file.h"
#include "compile/target.h"
#include "engine/warm_up.h"
#include "model/weights.h"

namespace hstu {

Result<Subject> Subject::Open(const AcceptanceOptions& options, std::span<const Request> requests) {
  const std::string path = options.artifacts + "/" + kMetadataFile;
  HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  HSTU_ASSIGN_OR_RETURN(Metadata metadata, ParseMetadata(file.text(), path));
  HSTU_ASSIGN_OR_RETURN(const Target target, ParseTarget(metadata.target));
  HSTU_ASSIGN_OR_RETURN(const ModelFiles model, ModelFiles::Load(options.model));
  if (UsableRequests(model.config(), requests, false).empty()) {
    return MakeError(ErrorCode::kBadData,
                     "{}: none of its requests has items and all contextual features",
                     options.requests);
  }
  const int threads = options.engine.threads > 0 ? options.engine.threads : AvailableProcessors();
  return Subject{options, requests, model.config(), std::move(metadata), target.isa, threads};
}

EngineOptions Subject::OptionsOf(bool compiled, bool kv_cache) const {
  EngineOptions engine = options.engine;
  engine.isa = IsaName(isa);
  engine.dtype = metadata.dtype;
  engine.kv_dtype = metadata.kv_dtype;
  engine.bf16_products = metadata.bf16_products;
  engine.page_size = metadata.page_size;
  engine.kv_cache = kv_cache;
  engine.artifacts = compiled ? options.artifacts : std::string();
  return engine;
}

Result<Engine> Subject::Load(bool compiled, bool kv_cache) const {
  return Engine::Load(options.model, OptionsOf(compiled, kv_cache));
}

Result<std::unique_ptr<Eager>> Subject::LoadEager() const {
  return Eager::Load(options.model, isa, threads, options.engine.operator_path);
}

}  // namespace hstu
