#include "kernels/operators.h"

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/concat_nd_jagged.h"

namespace hstu {
namespace {

template <typename Function>
AnyFunction Erase(Function* function) {
  return reinterpret_cast<AnyFunction>(function);
}

// An operator with a variant for every instruction set of the machine, and its plain one.
template <typename Function>
OperatorInfo Dispatched(const std::string& name, std::string summary, Function* (*variant_for)(Isa),
                        Function* plain, const std::string& file = "") {
  OperatorInfo info{
      name, "src/kernels/" + (file.empty() ? name : file) + ".cc", std::move(summary), {}};
  for (const Isa isa : SupportedIsas()) {
    info.variants.push_back({std::string(IsaName(isa)), Erase(variant_for(isa))});
  }
  info.variants.push_back({"plain", Erase(plain)});
  return info;
}

template <typename Function>
OperatorInfo Single(const std::string& name, std::string summary, Function* function) {
  return {name, "src/kernels/" + name + ".cc", std::move(summary), {{"plain", Erase(function)}}};
}

std::vector<OperatorInfo> List() {
  return {
      Dispatched("embed_tokens", "gather, interleave, scale and position in one pass",
                 EmbedTokensFor, EmbedTokensPlain),
      Single("concat_nd_jagged", "jagged tensors joined sequence by sequence", ConcatNdJagged),
      Dispatched("layer_norm", "LayerNorm by rows", LayerNormFor, LayerNormPlain),
      Dispatched("in_linear_silu", "linear, bias and SiLU: U, V, Q and K in one result",
                 InLinearSiluFor, InLinearSiluPlain),
      Dispatched("reshape_and_cache", "K and V of a step into their pages", ReshapeAndCacheFor,
                 ReshapeAndCachePlain),
      Dispatched("quantize_page", "a full page of K and V from f32 to int8", QuantizePageFor,
                 QuantizePagePlain),
      Dispatched("hstu_attention", "SiLU or softmax attention over pages of K and V",
                 HstuAttentionFor, HstuAttentionPlain),
      Dispatched("attention_update", "partial softmax attention of ranks, merged",
                 AttentionUpdateFor, AttentionUpdatePlain),
      Dispatched("attention_update_list", "the same of parts that lie apart",
                 AttentionUpdateListFor, AttentionUpdateListPlain, "attention_update"),
      Dispatched("norm_mul", "LayerNorm of the attention times U", NormMulFor, NormMulPlain),
      Dispatched("row_moments", "mean and squares of a rank's part of a row", RowMomentsFor,
                 RowMomentsPlain),
      Dispatched("norm_mul_moments", "norm_mul of a rank's part of a row", NormMulMomentsFor,
                 NormMulMomentsPlain),
      Dispatched("linear_residual", "output projection and residual", LinearResidualFor,
                 LinearResidualPlain),
      Dispatched("pool_windows", "means over windows of a stage: the next stage's tokens",
                 PoolWindowsFor, PoolWindowsPlain),
      Dispatched("l2_norm", "rows to length one, before the head", L2NormFor, L2NormPlain),
      Dispatched("linear", "a layer of the head: linear, bias, ReLU", LinearFor, LinearPlain),
  };
}

// The names that run fused; empty for "none".
Result<std::set<std::string>> ParseFusedOps(const OperatorRegistry& registry,
                                            std::string_view text) {
  std::set<std::string> names;
  if (text == "none") return names;
  if (text == "all") {
    for (const OperatorInfo& info : registry.operators()) names.insert(info.name);
    return names;
  }
  while (true) {
    const size_t comma = text.find(',');
    const std::string name(text.substr(0, comma));
    if (registry.Find(name) == nullptr) {
      return MakeError(ErrorCode::kBadArgument,
                       "fused-ops: no operator is named \"{}\"; `hstu ops` lists them", name);
    }
    names.insert(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<OperatorRegistry> BuiltinOperators() {
  OperatorRegistry registry;
  for (OperatorInfo& info : List()) HSTU_RETURN_IF_ERROR(registry.Add(std::move(info)));
  return registry;
}

Result<Operators> SelectOperators(const OperatorRegistry& registry, Isa isa,
                                  std::string_view fused_ops) {
  HSTU_ASSIGN_OR_RETURN(const std::set<std::string> fused, ParseFusedOps(registry, fused_ops));
  const auto select = [&](auto** function, std::string_view name) {
    const bool is_fused = fused.contains(std::string(name));
    const AnyFunction chosen =
        registry.Find(name)->Variant(is_fused ? IsaName(isa) : std::string_view("plain"));
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(chosen);
  };
  Operators operators{};
  select(&operators.embed_tokens, "embed_tokens");
  select(&operators.layer_norm, "layer_norm");
  select(&operators.in_linear_silu, "in_linear_silu");
  select(&operators.reshape_and_cache, "reshape_and_cache");
  select(&operators.quantize_page, "quantize_page");
  select(&operators.hstu_attention, "hstu_attention");
  if (fused.contains("hstu_attention")) {
    operators.hstu_attention_chunk = HstuAttentionChunkFor(isa);
    operators.hstu_attention_join = HstuAttentionJoinFor(isa);
  }
  select(&operators.attention_update, "attention_update");
  select(&operators.norm_mul, "norm_mul");
  select(&operators.row_moments, "row_moments");
  select(&operators.norm_mul_moments, "norm_mul_moments");
  select(&operators.linear_residual, "linear_residual");
  select(&operators.pool_windows, "pool_windows");
  select(&operators.l2_norm, "l2_norm");
  select(&operators.linear, "linear");
  return operators;
}

}  // namespace hstu
