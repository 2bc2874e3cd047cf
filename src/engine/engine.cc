// The public Engine: checks options, loads the model, makes what the ranker needs.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "engine/dtypes.h"
#include "engine/kv_shape.h"
#include "engine/ranker.h"
#include "engine/workspace.h"
#include "hstu/hstu.hpp"
#include "kernels/operators.h"
#include "model/model.h"

namespace hstu {
namespace {

constexpr int kMostThreads = 1024;
constexpr int64_t kMostStepTokens = int64_t{1} << 24;
constexpr int64_t kDefaultKvBytes = int64_t{1} << 30;

Status CheckOptions(const EngineOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    return MakeError(ErrorCode::kBadArgument, "threads {} is outside [0, {}]; 0 takes all",
                     options.threads, kMostThreads);
  }
  if (options.max_step_tokens < 1 || options.max_step_tokens > kMostStepTokens) {
    return MakeError(ErrorCode::kBadArgument, "max_step_tokens {} is outside [1, {}]",
                     options.max_step_tokens, kMostStepTokens);
  }
  if (options.chunk_tokens < 0) {
    return MakeError(ErrorCode::kBadArgument,
                     "chunk_tokens {} is negative; 0 splits only at max_step_tokens",
                     options.chunk_tokens);
  }
  if (options.kv_pages < 0 || options.kv_bytes < 0) {
    return MakeError(ErrorCode::kBadArgument, "kv_pages {} and kv_bytes {} must not be negative",
                     options.kv_pages, options.kv_bytes);
  }
  return CheckPageTokens(options.page_size);
}

// Nothing without a KV cache, or where caching can't be exact.
Result<std::optional<KvCache>> MakeCache(const ModelConfig& config, const EngineOptions& options,
                                         KvDType dtype) {
  if (!options.kv_cache || config.contextual_mask) return std::optional<KvCache>();
  const KvModelShape shape = KvShapeOf(config, dtype);
  int64_t pages = options.kv_pages;
  if (pages == 0) {
    const int64_t bytes = options.kv_bytes == 0 ? kDefaultKvBytes : options.kv_bytes;
    pages = KvPagesWithin(shape, options.page_size, bytes);
    // The default is never too small for one user.
    if (options.kv_bytes == 0) {
      pages = std::max(pages, KvPagesPerUser(shape, options.page_size)[0]);
    }
  }
  HSTU_ASSIGN_OR_RETURN(KvLayout layout, MakeKvLayout(shape, options.page_size, pages));
  HSTU_ASSIGN_OR_RETURN(PagePool pool, PagePool::Make(std::move(layout)));
  return std::optional<KvCache>(KvCache(std::move(pool)));
}

}  // namespace

class Engine::Impl : public Ranker {
 public:
  using Ranker::Ranker;
};

Result<Engine> Engine::Load(const std::string& folder, const EngineOptions& options) {
  HSTU_RETURN_IF_ERROR(CheckOptions(options));
  HSTU_ASSIGN_OR_RETURN(EngineDTypes dtypes, ParseDTypes(options));
  HSTU_ASSIGN_OR_RETURN(const Isa isa, ParseIsa(options.isa));
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, BuiltinOperators());
  HSTU_ASSIGN_OR_RETURN(const Operators operators,
                        SelectOperators(registry, isa, options.fused_ops));
  HSTU_ASSIGN_OR_RETURN(Model model, Model::Load(folder));
  // Of such a model nothing is kept, and its contextual rows read pages that are not full yet.
  if (model.config().contextual_mask && dtypes.kv == KvDType::kInt8) dtypes.kv = KvDType::kF32;
  const int threads = options.threads > 0 ? options.threads : AvailableProcessors();
  const WorkspaceLimits limits = Workspace::Limits(model.config(), options, dtypes, threads);
  HSTU_ASSIGN_OR_RETURN(std::optional<KvCache> cache,
                        MakeCache(model.config(), options, dtypes.kv));
  HSTU_ASSIGN_OR_RETURN(Workspace workspace,
                        Workspace::Make(model.config(), limits, options.page_size));
  return Engine(std::make_unique<Impl>(std::move(model), options, operators, std::move(workspace),
                                       std::move(cache), threads));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

std::vector<Answer> Engine::Rank(std::span<const Request> requests) {
  return impl_->Rank(requests);
}

std::int64_t Engine::num_tasks() const { return impl_->num_tasks(); }
EngineStats Engine::stats() const { return impl_->stats(); }
std::string Engine::ProfileTrace() const { return impl_->ProfileTrace(); }
std::string Engine::ProfileTable() const { return impl_->ProfileTable(); }

}  // namespace hstu
