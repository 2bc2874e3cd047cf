// The public Engine: checks options, loads the model, makes what the ranker needs.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "cache/disk_tier.h"
#include "cache/host_tier.h"
#include "cache/redis_tier.h"
#include "compile/artifacts.h"
#include "engine/dtypes.h"
#include "engine/kv_shape.h"
#include "engine/rank_groups.h"
#include "engine/rank_lead.h"
#include "engine/ranker.h"
#include "engine/workspace.h"
#include "hstu/hstu.hpp"
#include "kernels/operator_library.h"
#include "kernels/operators.h"
#include "model/cache_identity.h"
#include "model/model.h"
#include "ranks/mpi.h"

namespace hstu {
namespace {

constexpr int kMostThreads = 1024;
constexpr int64_t kMostStepTokens = int64_t{1} << 24;

bool HasTiers(const EngineOptions& options) {
  return options.host_bytes > 0 || !options.disk.empty() || !options.redis.empty();
}

// Whether ranks have parts of the model.
bool SharesModel(const EngineOptions& options) {
  return options.embed_tp_size != 1 || options.sp_size != 1 || options.heads_tp_size != 1;
}

Status CheckTierOptions(const EngineOptions& options) {
  if (options.host_bytes < 0) {
    return MakeError(ErrorCode::kBadArgument, "host_bytes {} is negative", options.host_bytes);
  }
  if (options.disk.empty() != (options.disk_bytes == 0)) {
    return MakeError(ErrorCode::kBadArgument,
                     "disk \"{}\" with disk_bytes {}: give both, or none of them", options.disk,
                     options.disk_bytes);
  }
  if (options.offload_chunk <= 0 || options.offload_chunk % options.page_size != 0) {
    return MakeError(ErrorCode::kBadArgument,
                     "offload_chunk {}: give a multiple of the page size, {}",
                     options.offload_chunk, options.page_size);
  }
  if (HasTiers(options) && !options.kv_cache) {
    return MakeError(
        ErrorCode::kBadArgument,
        "host_bytes, disk and redis lie below the KV cache's pool: they need kv_cache");
  }
  return {};
}

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
  HSTU_RETURN_IF_ERROR(CheckPageTokens(options.page_size));
  if (!options.artifacts.empty() && options.fused_ops != "all") {
    return MakeError(ErrorCode::kBadArgument,
                     "artifacts hold fused operators: with fused_ops \"{}\" leave artifacts out",
                     options.fused_ops);
  }
  if (!options.artifacts.empty() && options.heads_tp_size > 1) {
    return MakeError(ErrorCode::kBadArgument,
                     "artifacts hold all heads: with heads_tp_size {} leave artifacts out",
                     options.heads_tp_size);
  }
  return CheckTierOptions(options);
}

// Null where none are asked for; checked, not loaded.
Result<std::unique_ptr<Artifacts>> OpenArtifacts(const ModelFiles& files,
                                                 const EngineDTypes& dtypes,
                                                 const EngineOptions& options) {
  if (options.artifacts.empty()) return std::unique_ptr<Artifacts>();
  return Artifacts::Open(options.artifacts,
                         {&files, dtypes.activations, dtypes.kv, options.bf16_products,
                          options.page_size, options.isa});
}

// Model, operators and artifacts, which depend on one another.
struct Loaded {
  Model model;
  Isa isa;
  Operators operators;  // of the built-in path; with artifacts, of their instruction set
  ModelOperators model_operators;
  std::unique_ptr<Artifacts> artifacts;
};

Result<Loaded> LoadWithArtifacts(ModelFiles files, const ModelPart& part,
                                 const EngineDTypes& dtypes, const EngineOptions& options) {
  HSTU_ASSIGN_OR_RETURN(const Preload preload, ParsePreload(options.preload));
  HSTU_ASSIGN_OR_RETURN(const OperatorRegistry registry, AllOperators(options.operator_path));
  HSTU_ASSIGN_OR_RETURN(ModelOperators model_operators,
                        FindModelOperators(files.config(), registry));
  HSTU_ASSIGN_OR_RETURN(std::unique_ptr<Artifacts> artifacts,
                        OpenArtifacts(files, dtypes, options));
  if (artifacts == nullptr) {
    HSTU_ASSIGN_OR_RETURN(const Isa isa, ParseIsa(options.isa));
    HSTU_ASSIGN_OR_RETURN(const Operators operators,
                          SelectOperators(registry, isa, options.fused_ops));
    HSTU_ASSIGN_OR_RETURN(const Products products,
                          ChooseProducts(options.bf16_products, dtypes.activations, isa));
    return Loaded{Model::Pack(std::move(files), part, products), isa, operators,
                  std::move(model_operators), nullptr};
  }
  HSTU_ASSIGN_OR_RETURN(const Operators operators,
                        SelectOperators(registry, artifacts->isa(), options.fused_ops));
  HSTU_RETURN_IF_ERROR(artifacts->Load(operators, preload));
  HSTU_ASSIGN_OR_RETURN(
      Model model,
      Model::LoadPacked(std::move(files), part, artifacts->products(), artifacts->TakeWeights()));
  const Isa isa = artifacts->isa();
  return Loaded{std::move(model), isa, operators, std::move(model_operators), std::move(artifacts)};
}

// With `error` set to why there are no artifacts, where they are optional.
Result<Loaded> LoadModel(const std::string& folder, const ModelPart& part, EngineDTypes* dtypes,
                         const EngineOptions& options, std::string* error) {
  HSTU_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Load(folder, part));
  // Of such a model nothing is kept, and its contextual rows read pages that are not full yet.
  if (files.config().contextual_mask && dtypes->kv == KvDType::kInt8) dtypes->kv = KvDType::kF32;
  Result<Loaded> loaded = LoadWithArtifacts(std::move(files), part, *dtypes, options);
  if (loaded.ok() || options.artifacts.empty() || !options.artifacts_optional) return loaded;
  *error = loaded.error().message;
  EngineOptions without = options;
  without.artifacts.clear();
  HSTU_ASSIGN_OR_RETURN(files, ModelFiles::Load(folder, part));
  return LoadWithArtifacts(std::move(files), part, *dtypes, without);
}

// Nothing without a KV cache, or where caching can't be exact.
Result<std::optional<KvCache>> MakeCache(const ModelConfig& config, const EngineOptions& options,
                                         KvDType dtype) {
  if (!options.kv_cache || config.contextual_mask) return std::optional<KvCache>();
  HSTU_ASSIGN_OR_RETURN(KvLayout layout, KvLayoutOf(config, options, dtype));
  HSTU_ASSIGN_OR_RETURN(PagePool pool, PagePool::Make(std::move(layout)));
  return std::optional<KvCache>(KvCache(std::move(pool)));
}

// Null where none is asked for.
Result<std::unique_ptr<TierStack>> MakeTiers(const Loaded& loaded, const EngineDTypes& dtypes,
                                             const EngineOptions& options) {
  if (!HasTiers(options)) return std::unique_ptr<TierStack>();
  HSTU_ASSIGN_OR_RETURN(const std::string embedding_operators,
                        IdentityOf(loaded.model_operators.embedding));
  const std::string identity = CacheIdentity(
      loaded.model.files(), {std::string(IsaName(loaded.isa)), options.fused_ops,
                             NameOf(dtypes.activations), loaded.model.products(), NameOf(dtypes.kv),
                             options.page_size, options.disable_context, embedding_operators});
  std::vector<std::unique_ptr<Tier>> tiers;
  if (options.host_bytes > 0) tiers.push_back(std::make_unique<HostTier>(options.host_bytes));
  if (!options.disk.empty()) {
    HSTU_ASSIGN_OR_RETURN(auto disk, DiskTier::Open(options.disk, options.disk_bytes));
    tiers.push_back(std::move(disk));
  }
  if (!options.redis.empty()) {
    HSTU_ASSIGN_OR_RETURN(auto redis, RedisTier::Make(options.redis, identity));
    tiers.push_back(std::move(redis));
  }
  return std::make_unique<TierStack>(std::move(tiers), identity);
}

// Nothing shared where there is one rank.
Result<RankGroups> JoinRanks(const std::string& folder, const EngineOptions& options) {
  const bool alone = options.communicator == nullptr && !options.mpi;
  if (alone && !SharesModel(options)) return RankGroups();
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(folder));
  const int ranks = alone ? 1 : options.mpi ? MpiSize() : options.communicator->size();
  HSTU_ASSIGN_OR_RETURN(const RankLayout layout, LayOutRanks(options, config, ranks));
  if (alone) return RankGroups();
  std::shared_ptr<Communicator> world = options.communicator;
  if (options.mpi) {
    HSTU_ASSIGN_OR_RETURN(world, OpenMpi());
  }
  return RankGroups::Make(layout, std::move(world));
}

// Why there are no artifacts, where they are optional, goes to `artifacts_error`.
Result<std::unique_ptr<Ranker>> LoadRanker(const std::string& folder, const EngineOptions& options,
                                           RankGroups groups, std::string* artifacts_error) {
  HSTU_ASSIGN_OR_RETURN(EngineDTypes dtypes, ParseDTypes(options));
  ModelPart part;
  if (groups.world != nullptr) part = groups.layout.PartOf(groups.world->rank(), options);
  HSTU_ASSIGN_OR_RETURN(Loaded loaded, LoadModel(folder, part, &dtypes, options, artifacts_error));
  Model& model = loaded.model;
  const int threads = options.threads > 0 ? options.threads : AvailableProcessors();
  WorkspaceLimits limits = Workspace::Limits(model.config(), options, dtypes, threads);
  if (loaded.artifacts != nullptr) limits.arena_bytes = loaded.artifacts->arena_bytes();
  HSTU_ASSIGN_OR_RETURN(std::optional<KvCache> cache,
                        MakeCache(model.config(), options, dtypes.kv));
  HSTU_ASSIGN_OR_RETURN(Workspace workspace,
                        Workspace::Make(model.config(), limits, options.page_size));
  std::unique_ptr<TierStack> tiers;
  std::unique_ptr<CacheLog> log;
  if (cache) {
    HSTU_ASSIGN_OR_RETURN(tiers, MakeTiers(loaded, dtypes, options));
    if (!options.cache_log.empty()) {
      HSTU_ASSIGN_OR_RETURN(log, CacheLog::Open(options.cache_log, options.page_size));
    }
  }
  return std::make_unique<Ranker>(std::move(model), options, loaded.operators,
                                  std::move(loaded.model_operators), std::move(loaded.artifacts),
                                  std::move(workspace), std::move(cache), std::move(tiers),
                                  std::move(log), threads, std::move(groups));
}

}  // namespace

// Without ranks there is no lead, and the ranker takes the calls.
class Engine::Impl {
 public:
  Impl(std::unique_ptr<Ranker> ranker, const RankLayout& layout,
       std::shared_ptr<Communicator> world)
      : world_(std::move(world)), ranker_(std::move(ranker)) {
    if (world_ != nullptr) lead_.emplace(ranker_.get(), layout, world_);
  }

  Ranker& ranker() { return *ranker_; }
  RankLead* lead() { return lead_ ? &*lead_ : nullptr; }

  std::string artifacts_error;

 private:
  // In this order: the lead says the end, groups of ranks end in the ranker, the world is last.
  const std::shared_ptr<Communicator> world_;
  const std::unique_ptr<Ranker> ranker_;
  std::optional<RankLead> lead_;
};

Result<Engine> Engine::Load(const std::string& folder, const EngineOptions& options) {
  HSTU_RETURN_IF_ERROR(CheckOptions(options));
  HSTU_ASSIGN_OR_RETURN(RankGroups groups, JoinRanks(folder, options));
  const RankLayout layout = groups.layout;
  const std::shared_ptr<Communicator> world = groups.world;
  std::string artifacts_error;
  Result<std::unique_ptr<Ranker>> ranker =
      LoadRanker(folder, options, std::move(groups), &artifacts_error);
  if (world != nullptr) {
    HSTU_RETURN_IF_ERROR(AgreeOnStatus(ranker.ok() ? Status() : ranker.error(), world.get()));
  }
  if (!ranker.ok()) return ranker.error();
  auto impl = std::make_unique<Impl>(std::move(ranker).value(), layout, world);
  impl->artifacts_error = std::move(artifacts_error);
  return Engine(std::move(impl));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

std::vector<Answer> Engine::Rank(std::span<const Request> requests) {
  return impl_->lead() != nullptr ? impl_->lead()->Rank(requests) : impl_->ranker().Rank(requests);
}

bool Engine::follows() const { return impl_->lead() != nullptr && !impl_->lead()->leads(); }
void Engine::Follow() {
  if (follows()) impl_->lead()->Follow();
}

std::int64_t Engine::num_tasks() const { return impl_->ranker().num_tasks(); }
EngineStats Engine::stats() const {
  EngineStats stats = impl_->ranker().stats();
  stats.artifacts_error = impl_->artifacts_error;
  return stats;
}
Status Engine::WarmUp(std::span<const Request> requests) {
  return impl_->ranker().WarmUp(requests);
}
void Engine::WaitForSaves() {
  impl_->lead() != nullptr ? impl_->lead()->WaitForSaves() : impl_->ranker().WaitForSaves();
}
void Engine::ForgetUsers() {
  impl_->lead() != nullptr ? impl_->lead()->ForgetUsers() : impl_->ranker().ForgetUsers();
}
std::string Engine::DescribeCache(const std::optional<std::string>& user_id) const {
  return impl_->ranker().DescribeCache(user_id);
}
std::string Engine::ProfileTrace() const { return impl_->ranker().ProfileTrace(); }
std::string Engine::ProfileTable() const { return impl_->ranker().ProfileTable(); }

}  // namespace hstu
