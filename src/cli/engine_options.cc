#include "cli/engine_options.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/request_file.h"
#include "ranks/mpi.h"

namespace hstu {
namespace {

constexpr const char* kGroup = "Engine";

// Says on stderr that the model can't be cached, where a cache was asked for.
void NoteMissingCache(const Engine& engine, const EngineOptions& options) {
  if (!options.kv_cache || engine.stats().kv_bytes > 0) return;
  std::fputs(
      "hstu: contextual_mask lets contextual tokens see the whole history, so nothing can be "
      "cached: running as without --kv-cache\n",
      stderr);
}

}  // namespace

void AddCapacityOptions(CLI::App& app, EngineOptions& options) {
  app.add_option("--threads", options.threads, "threads; 0 takes one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag("--kv-cache,!--no-kv-cache", options.kv_cache,
               "keep K and V of users' histories, so that a request computes only new tokens")
      ->group(kGroup);
  app.add_option("--kv-pages", options.kv_pages, "pages of the KV cache; 0: what --kv-bytes holds")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--kv-bytes", options.kv_bytes, "size of the KV cache; 0: 1 GiB")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50))
      ->capture_default_str()
      ->group(kGroup);
}

CLI::Option* AddBF16ProductsOption(CLI::App& app, std::string& products) {
  return app
      .add_option("--bf16-products", products,
                  "how bf16 is multiplied: as AMX-BF16 (tiles) or AVX-512-BF16 (pairs) do, or in "
                  "f32 (off); "
                  "auto: the fastest that this CPU has")
      ->check(CLI::IsMember({"auto", "tiles", "pairs", "off"}))
      ->capture_default_str();
}

void AddEngineOptions(CLI::App& app, EngineOptions& options) {
  AddCapacityOptions(app, options);
  app.add_option("--dtype", options.dtype, "type of the activations: f32, bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str()
      ->group(kGroup);
  AddBF16ProductsOption(app, options.bf16_products)->group(kGroup);
  app.add_option("--isa", options.isa, "instruction set: scalar, avx2, avx512; the best by default")
      ->group(kGroup);
  app.add_option("--fused-ops", options.fused_ops, "fused operators: all, none, or NAME,...")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--page-size", options.page_size, "tokens a page, the unit of --truncate")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-step-tokens", options.max_step_tokens,
                 "the most tokens that one step computes, which bounds memory")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--chunk-tokens", options.chunk_tokens,
                 "compute histories in chunks of this many tokens; 0: of --max-step-tokens")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag("--last-layer-all-rows", options.last_layer_all_rows,
               "compute rows of the last layer that no answer needs")
      ->group(kGroup);
  app.add_flag("--truncate", options.truncate,
               "drop the oldest tokens of a history that is too long")
      ->group(kGroup);
  app.add_option("--kv-dtype", options.kv_dtype,
                 "type of K and V: f32, bf16, f16, int8; by default that of the activations")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}))
      ->group(kGroup);
  app.add_option("--host-bytes", options.host_bytes,
                 "memory beside the KV cache for states that leave it; 0: none")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--disk", options.disk, "folder for states that leave memory; survives a restart")
      ->group(kGroup);
  app.add_option("--disk-bytes", options.disk_bytes, "size of all files in --disk")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60))
      ->group(kGroup);
  app.add_option("--redis", options.redis,
                 "redis://HOST[:PORT][/DATABASE]: a store that processes share")
      ->group(kGroup);
  app.add_option("--offload-chunk", options.offload_chunk,
                 "tokens that are saved together, as soon as all are there; whole pages")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--cache-log", options.cache_log,
                 "file for every write and read of the KV cache; see hstu cache check")
      ->group(kGroup);
  app.add_option("--artifacts", options.artifacts,
                 "folder that hstu compile made of the model: steps run in its buckets")
      ->group(kGroup);
  app.add_flag("--artifacts-optional", options.artifacts_optional,
               "carry on without artifacts, with a warning, where they don't fit")
      ->group(kGroup);
  app.add_option("--preload", options.preload,
                 "libraries of artifacts: all at once, adjacent to the one in use, none")
      ->check(CLI::IsMember({"all", "adjacent", "none"}))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--operator-path", options.operator_path,
                 "folders of operator libraries, joined by ':'; by default HSTU_OPERATOR_PATH")
      ->group(kGroup);
  app.add_flag("--disable-context", options.disable_context, "leave contextual tokens out")
      ->group(kGroup);
}

void AddRankOptions(CLI::App& app, EngineOptions& options) {
  constexpr const char* kRanks = "Ranks (mpirun -np N hstu ...)";
  const auto size = CLI::Range(std::int64_t{1}, std::int64_t{1} << 20);
  options.mpi = MpiSize() > 1;
  app.add_option("--embed-tp-size", options.embed_tp_size,
                 "ranks that share the rows of embedding tables")
      ->check(size)
      ->capture_default_str()
      ->group(kRanks);
  app.add_option("--embed-tp-min-rows", options.embed_tp_min_rows,
                 "tables of fewer rows are whole on every rank")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str()
      ->group(kRanks);
  app.add_option("--sp-size", options.sp_size, "ranks that share each user's K and V by pages")
      ->check(size)
      ->capture_default_str()
      ->group(kRanks);
  app.add_flag("--sp-exact", options.sp_exact,
               "join attention chunk by chunk: one rank's bits, and more to send")
      ->group(kRanks);
  app.add_option("--heads-tp-size", options.heads_tp_size,
                 "ranks that share the heads; it divides them")
      ->check(size)
      ->capture_default_str()
      ->group(kRanks);
  app.add_flag("--dp", options.dp, "spread users over the ranks, or over groups that share them")
      ->group(kRanks);
}

bool FollowedToTheEnd(Engine& engine) {
  if (!engine.follows()) return false;
  engine.Follow();
  return true;
}

void AddWarmUpOption(CLI::App& app, std::string& file) {
  app.add_option("--warm-up", file,
                 "JSON Lines: requests like these run in every bucket of --artifacts first")
      ->group(kGroup);
}

Status WarmUp(Engine& engine, const std::string& file) {
  if (file.empty()) return {};
  HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests, ReadRequests(file));
  return engine.WarmUp(requests);
}

Result<Engine> LoadEngine(const std::string& model, const EngineOptions& options) {
  Result<Engine> engine = Engine::Load(model, options);
  if (!engine.ok()) return engine;
  if (engine->follows()) return engine;  // rank 0 speaks
  NoteMissingCache(engine.value(), options);
  const std::string error = engine->stats().artifacts_error;
  if (!error.empty()) fmt::print(stderr, "hstu: running without artifacts: {}\n", error);
  return engine;
}

}  // namespace hstu
