// hstu compile: a model to a folder of artifacts, a library for each bucket of lengths and batches.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/json_output.h"
#include "cli/request_file.h"
#include "cli/standard_output.h"
#include "compile/build.h"
#include "compile/metadata.h"
#include "compile/traffic.h"

namespace hstu {
namespace {

struct CompileArguments {
  CompileOptions compile;
  std::string from_requests;
  std::string json;
};

// Lengths that the option leaves to the traffic.
Status CompleteLengths(CompileArguments* arguments) {
  CompileOptions& options = arguments->compile;
  if (arguments->from_requests.empty()) {
    if (!options.seq_lens.empty()) return {};
    return MakeError(ErrorCode::kBadArgument,
                     "which lengths? give --seq-len, or --from-requests to take them from traffic");
  }
  HSTU_ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(options.model));
  HSTU_ASSIGN_OR_RETURN(const std::vector<Request> requests,
                        ReadRequests(arguments->from_requests));
  const std::vector<int64_t> lengths =
      SeqLensOf(ComputedTokens(config, requests, options.kv_cache, options.step_tokens));
  options.seq_lens.insert(options.seq_lens.end(), lengths.begin(), lengths.end());
  return {};
}

std::string Describe(const CompileReport& report, double seconds) {
  const Metadata& metadata = report.metadata;
  const std::string products =
      metadata.bf16_products == "off" ? "" : fmt::format(" in {}", metadata.bf16_products);
  std::string text = fmt::format("{}, {}{}, K and V {}, {}\n", metadata.target, metadata.dtype,
                                 products, metadata.kv_dtype, metadata.compiler);
  for (const BucketRecord& bucket : metadata.buckets) {
    fmt::format_to(std::back_inserter(text), "  {:>8} tokens x {:<4} {:<24} arena {:.1f} MB\n",
                   bucket.seq_len, bucket.batch, bucket.library,
                   static_cast<double>(bucket.arena_bytes) * 1e-6);
  }
  fmt::format_to(std::back_inserter(text),
                 "{} objects and {} libraries made in {:.1f} s; {} and {} were there\n",
                 report.objects, report.libraries, seconds, report.objects_reused,
                 report.libraries_reused);
  return text;
}

// Fallbacks by operator, each once.
std::string DescribeFallbacks(const Metadata& metadata) {
  std::set<std::string> lines;
  for (const KernelRecord& kernel : metadata.kernels) {
    if (kernel.fallback) lines.insert(fmt::format("  {}: {}\n", kernel.op, kernel.reason));
  }
  std::string text =
      fmt::format("hstu: {} of {} kernels are fallbacks, more than {} %:\n",
                  metadata.NumFallbacks(), metadata.kernels.size(), kMostFallbacks * 100);
  for (const std::string& line : lines) text += line;
  return text;
}

Result<int> RunCompile(CompileArguments& arguments) {
  HSTU_RETURN_IF_ERROR(CompleteLengths(&arguments));
  const auto begin = std::chrono::steady_clock::now();
  HSTU_ASSIGN_OR_RETURN(const CompileReport report, CompileModel(arguments.compile));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!arguments.json.empty()) {
    nlohmann::ordered_json json = {{"seconds", seconds.count()},
                                   {"objects", report.objects},
                                   {"objects_reused", report.objects_reused},
                                   {"libraries", report.libraries},
                                   {"libraries_reused", report.libraries_reused},
                                   {"weights_reused", report.weights_reused},
                                   {"metadata", ToJson(report.metadata)}};
    HSTU_RETURN_IF_ERROR(WriteJson(json, arguments.json));
  }
  if (arguments.json != "-") {
    HSTU_RETURN_IF_ERROR(WriteStandardOutput(Describe(report, seconds.count())));
    HSTU_RETURN_IF_ERROR(FlushStandardOutput());
  }
  const Metadata& metadata = report.metadata;
  if (metadata.FallbackShare() <= kMostFallbacks) return kExitOk;
  std::fputs(DescribeFallbacks(metadata).c_str(), stderr);
  return kExitFallbacks;
}

}  // namespace

Runner AddCompile(CLI::App& app) {
  auto arguments = std::make_shared<CompileArguments>();
  CompileOptions& options = arguments->compile;
  options.batches = {1, 8};
  app.add_option("--model", options.model, "folder of the model")->required();
  app.add_option("--out", options.out, "folder of the artifacts; what it has is used again")
      ->required();
  app.add_option("--seq-len", options.seq_lens,
                 "tokens computed for a step's longest sequence, one bucket each: 512,2048")
      ->delimiter(',');
  app.add_option("--batch", options.batches, "sequences of a step, one bucket each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--from-requests", arguments->from_requests,
                 "JSON Lines: lengths are their 50th, 90th and 99th percentiles, rounded up");
  app.add_option("--dtype", options.dtype, "type of the activations: f32, bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--target", options.target, "processors: native, x86-64-v3, x86-64-v4")
      ->capture_default_str();
  app.add_flag("--kv-cache,!--no-kv-cache", options.kv_cache,
               "compile too what shares a long cached history's keys between threads");
  app.add_option("--page-size", options.page_size, "tokens a page of K and V")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str();
  app.add_option("--kv-dtype", options.kv_dtype,
                 "type of K and V: f32, bf16, f16, int8; by default that of the activations")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "int8"}));
  AddBF16ProductsOption(app, options.bf16_products);
  app.add_option("--max-step-tokens", options.step_tokens,
                 "the most tokens of a step, as the engine will be told")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "compilers side by side; 0: one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--fallback-ops", options.fallback_ops,
                 "operators that stay built in, to find one at fault; see hstu ops")
      ->delimiter(',');
  AddJsonOption(app, arguments->json);
  return [arguments] { return RunCompile(*arguments); };
}

}  // namespace hstu
