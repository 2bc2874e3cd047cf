// hstu.cpp: production inference of HSTU generative recommenders. The C++ API.
// SPDX-License-Identifier: Apache-2.0
//
// Errors are values: no function here throws for a bad request, file or model.
#ifndef HSTU_HSTU_HPP_
#define HSTU_HSTU_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What libhstu.so exports.
#define HSTU_API __attribute__((visibility("default")))

namespace hstu {

// What went wrong. The first five are answers to a request; the others end a command.
enum class ErrorCode {
  kBadRequest,
  kIdOutOfRange,
  kHistoryTooLong,
  kHistoryNotCached,
  kTooManyCandidates,
  kBadModel,     // a model folder that can't be read, or that lies
  kBadData,      // a data file that can't be read, or that lies
  kBadArgument,  // an option or a call that can't be meant
  kIo,           // the operating system refused to read or write
};

// The name that answers carry, such as "id_out_of_range".
HSTU_API const char* ErrorName(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string message;  // names the thing, the value, the limit and the way out
};

// A value or the error that kept it from being made.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that `return value;` and `return error;` work.
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // Implicit, so that `return error;` works.
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

// One user's history and the candidates to score. Ids are raw where the table has a vocabulary,
// else rows.
struct Request {
  std::optional<std::string> user_id;  // names the user's state; nothing to do with a feature
  std::vector<std::pair<std::string, std::int64_t>> contextual;  // feature, id
  std::vector<std::int64_t> items;
  std::vector<std::int64_t> actions;  // one an item; empty where the model has no action_feature
  std::optional<std::int64_t> history_start;  // in items; absent: the history is whole
  std::vector<std::int64_t> candidates;       // may be empty: computes the history only
};

struct Answer {
  std::optional<Error> error;  // set: nothing below is meaningful
  std::int64_t num_tasks = 0;
  std::vector<float> logits;        // [candidates, num_tasks], row by row
  std::int64_t history_items = 0;   // where the next history_start goes on
  std::int64_t cached_tokens = 0;   // history tokens that were not computed for this answer
  std::int64_t evicted_tokens = 0;  // history tokens that the answer could not see
};

class Communicator;

struct EngineOptions {
  int threads = 0;                // 0: one for each processor that the process may use
  std::string isa;                // "scalar", "avx2", "avx512"; empty: the best that the CPU has
  std::string fused_ops = "all";  // "all", "none", or names joined by commas
  std::string dtype = "f32";      // of activations: "f32", "bf16"; sums are f32
  // How bf16 activations are multiplied with weights, and with K and V in bf16: "tiles": as
  // AMX-BF16 does; "pairs": as AVX-512-BF16 does; "off": in f32; "auto": the fastest on this
  // processor.
  std::string bf16_products = "auto";
  // Of K and V: "f32", "bf16", "f16", "int8"; empty: that of activations. With or without a cache:
  // what is read is what is kept.
  std::string kv_dtype;
  // The most tokens that one step computes, which bounds memory. A longer history is computed in
  // chunks.
  std::int64_t max_step_tokens = 8192;
  std::int64_t chunk_tokens = 0;     // split histories at this many tokens; 0: at max_step_tokens
  bool last_layer_all_rows = false;  // compute rows of the last layer that no answer needs
  bool truncate = false;             // drop the oldest tokens of a history that is too long
  bool disable_context = false;      // leave contextual tokens out
  int page_size = 32;                // tokens; the unit of truncation
  // Keep K and V of users' histories, so that a request computes only new tokens. Requests without
  // a user_id, and models with contextual_mask, are computed as without.
  bool kv_cache = false;
  std::int64_t kv_pages = 0;  // of the pool; 0: as many as kv_bytes holds
  // Of the pool and of what its users keep beside pages: in int8, and between stages. 0: 1 GiB.
  std::int64_t kv_bytes = 0;
  // Below the pool, each where it is given: states of users that the pool lost come back from the
  // first of these that has them.
  std::int64_t host_bytes = 0;        // memory beside the pool
  std::string disk;                   // a folder, for this engine alone; survives a restart
  std::int64_t disk_bytes = 0;        // of all files in it
  std::string redis;                  // redis://HOST[:PORT][/DATABASE], shared by processes
  std::int64_t offload_chunk = 1024;  // tokens that are saved as one part, as soon as all are there
  std::string cache_log;              // a file that gets every write and read of the pool
  bool profile = false;               // record every operator's calls
  // A folder that `hstu compile` made of the model: steps run in the smallest bucket that fits,
  // with the same bits.
  std::string artifacts;
  bool artifacts_optional = false;  // carry on without where they don't fit; see artifacts_error
  std::string preload = "all";      // libraries of buckets: "all", "adjacent", "none"
  // Folders of operator libraries, joined by ':'; empty: the environment's HSTU_OPERATOR_PATH.
  std::string operator_path;
  // Ranks, each with an engine of the same options: the processes that mpirun started, with `mpi`,
  // or threads that `communicator` joins. docs/scaling.md
  bool mpi = false;
  std::shared_ptr<Communicator> communicator;
  std::int64_t embed_tp_size = 1;         // ranks that share the rows of embedding tables
  std::int64_t embed_tp_min_rows = 1000;  // smaller tables are whole on every rank
  // Ranks that share each user's K and V by pages. An answer differs in its last bits from one
  // rank's, unless `sp_exact`: then each chunk of keys is sent by itself, which is more to send.
  std::int64_t sp_size = 1;
  bool sp_exact = false;
  std::int64_t heads_tp_size = 1;  // ranks that share the heads, which they divide
  bool dp = false;                 // spread users over groups of ranks
};

// A bucket of the artifacts.
struct BucketStats {
  std::int64_t seq_len = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 0;     // that ran in it
  std::int64_t requests = 0;  // of these; one in chunks counts with each
};

// A tier below the KV cache's pool.
struct TierStats {
  std::string name;         // "host", "disk" or "redis"
  std::int64_t hits = 0;    // users found
  std::int64_t misses = 0;  // users looked up in vain
  std::int64_t tokens = 0;  // history tokens that were not computed, thanks to it
  std::int64_t users = 0;   // kept; of redis only the server knows
  std::int64_t bytes = 0;   // of these
  std::int64_t users_evicted = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t damaged = 0;  // states with a wrong checksum, or that lost a part: misses
  std::int64_t errors = 0;   // of the device, or for lack of room: misses
};

// What an engine holds and has done so far.
struct EngineStats {
  std::int64_t arena_bytes = 0;   // of all steps together, known before the first
  std::int64_t weight_bytes = 0;  // dense weights as they are held; tables stay mapped
  std::string bf16_products;      // "off", "pairs" or "tiles", see EngineOptions
  std::int64_t steps = 0;
  std::int64_t tokens = 0;             // computed, history and candidates
  std::int64_t kv_bytes = 0;           // that the KV cache takes at most; 0 without one
  std::int64_t kv_users = 0;           // that it knows
  std::int64_t kv_users_evicted = 0;   // by the least recent use
  std::int64_t kv_tokens_evicted = 0;  // of users past max_history_tokens
  // Spent looking users up, comparing histories, evicting, and handing out pages.
  double kv_manage_seconds = 0;
  std::int64_t kv_hits = 0;             // requests whose user was in the pool
  std::int64_t kv_tokens = 0;           // history tokens that were not computed, thanks to the pool
  std::int64_t kv_arrivals = 0;         // states on their way from a tier into the pool
  std::int64_t kv_arrivals_failed = 0;  // of these, given up: what was asked was computed
  std::int64_t kv_saves = 0;            // begun
  std::int64_t kv_saves_dropped = 0;    // for lack of memory for what waits to be written
  std::int64_t kv_waits = 0;            // of requests for saves
  double kv_arrival_seconds = 0.0;      // that states were on their way
  double kv_waited_seconds = 0.0;       // that steps waited for them
  std::vector<TierStats> tiers;         // from the top
  std::int64_t step_allocations = 0;    // on the heap during steps; 0 where nothing counts them
  std::int64_t artifact_hits = 0;       // requests that ran in buckets alone
  std::int64_t artifact_misses = 0;     // requests that ran built in, in part at least
  std::vector<BucketStats> buckets;     // of the artifacts, the smallest first
  std::string artifacts_error;          // why there are none, with artifacts_optional
};

class HSTU_API Engine {
 public:
  // Loads a model folder (config.json, model.safetensors). Embedding tables stay mapped.
  static Result<Engine> Load(const std::string& folder, const EngineOptions& options = {});

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  // Answers all requests, in order. A bad request gets its error and disturbs no other. In f32 an
  // answer is the same bits whatever else is in the batch. Safe to call from many threads.
  std::vector<Answer> Rank(std::span<const Request> requests);

  // Runs requests like these in every bucket of the artifacts, made longer and shorter to fit, so
  // that the first real ones find code and memory in place. Leaves no state of users and no counts.
  // Errors (kBadArgument): none of them has items.
  Status WarmUp(std::span<const Request> requests);

  // Logits of one candidate.
  std::int64_t num_tasks() const;

  EngineStats stats() const;

  // Returns when what was to be saved below the pool so far is saved.
  void WaitForSaves();

  // Forgets all users, in the pool and below; not those in Redis that the pool doesn't have.
  void ForgetUsers();

  // What is cached of each user, or of one, as JSON: pages, positions, tokens and tiers.
  std::string DescribeCache(const std::optional<std::string>& user_id = std::nullopt) const;

  // With ranks: rank 0's engine answers, and its calls reach the others. On another rank nothing
  // but Follow may be called: it computes this rank's part until rank 0's engine ends. Where the
  // engine answers itself, Follow returns at once.
  bool follows() const;
  void Follow();

  // What `profile` recorded so far: a Chrome trace (Perfetto opens it), and a table by operator.
  // Empty without it.
  std::string ProfileTrace() const;
  std::string ProfileTable() const;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hstu

#endif  // HSTU_HSTU_HPP_
