#include "compile/codegen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "compile/kernel_sources.h"
#include "kernels/operator_table.h"
#include "kernels/panel.h"

namespace hstu {
namespace {

std::string Literal(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "DType::kF32";
    case DType::kF16:
      return "DType::kF16";
    case DType::kBF16:
      return "DType::kBF16";
  }
  return {};
}

std::string Literal(Products products) {
  switch (products) {
    case Products::kF32:
      return "Products::kF32";
    case Products::kBF16Pairs:
      return "Products::kBF16Pairs";
    case Products::kBF16Tiles:
      return "Products::kBF16Tiles";
  }
  return "";
}

std::string Literal(KvDType dtype) {
  switch (dtype) {
    case KvDType::kF32:
      return "KvDType::kF32";
    case KvDType::kBF16:
      return "KvDType::kBF16";
    case KvDType::kF16:
      return "KvDType::kF16";
    case KvDType::kInt8:
      return "KvDType::kInt8";
  }
  return {};
}

// Every bit of it.
std::string Literal(float value) { return fmt::format("{:a}f", value); }

// The assignments of a kernel.
class Constants {
 public:
  template <typename T>
  void Set(const std::string& member, const T& value) {
    text_ += fmt::format("  args.{} = {};\n", member, value);
  }
  // A view [rows, cols], `stride` elements from row to row.
  void View(const std::string& member, int64_t cols, int64_t stride) {
    Set(member + ".cols", cols);
    Set(member + ".stride", stride);
  }
  void View(const std::string& member, int64_t cols, int64_t stride, DType dtype) {
    View(member, cols, stride);
    Set(member + ".dtype", Literal(dtype));
  }
  void Weight(const std::string& member, int64_t n, int64_t k, std::optional<DType> dtype,
              Products products) {
    Set(member + ".n", n);
    Set(member + ".k", k);
    if (dtype) Set(member + ".dtype", Literal(*dtype));
    Set(member + ".products", Literal(products));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A model's sizes by short names.
struct Model {
  const ModelFiles& files;
  const ModelConfig& config;
  const Specialization& special;
  int64_t width;      // C
  int64_t attention;  // HD

  // The type that all these weights are packed in, if it is one.
  std::optional<DType> PackedType(std::string_view name) const {
    std::optional<DType> type;
    for (int64_t i = 0; i < config.num_layers; ++i) {
      const WeightView& weight = *files.Find(fmt::format("layers.{}.{}", i, name));
      const DType packed = PackedShape(weight.dtype, 1, 1, special.products).dtype;
      if (type && *type != packed) return std::nullopt;
      type = packed;
    }
    return type;
  }
  void Layout(KvDType dtype, Constants* constants) const {
    constants->Set("layout.heads", config.num_attention_heads);
    constants->Set("layout.dim", config.kv_channels);
    constants->Set("layout.page_tokens", special.page_size);
    constants->Set("layout.dtype", Literal(dtype));
  }
};

void EmbedTokens(const Model& model, Constants* constants) {
  constants->Set("item_table.dtype", Literal(model.files.item().weight.dtype));
  if (const FeatureTable* action = model.files.action()) {
    constants->Set("action_table.dtype", Literal(action->weight.dtype));
  } else {
    constants->Set("action_table.data", "nullptr");
  }
  constants->Set("position_table.dtype", Literal(model.files.Find("position.weight")->dtype));
  constants->Set("num_positions", model.config.num_position_buckets);
  constants->Set("scale", Literal(std::sqrt(static_cast<float>(model.width))));
  constants->View("out", model.width, model.width, model.special.dtype);
}

void LayerNorm(const Model& model, Constants* constants) {
  constants->View("x", model.width, model.width, model.special.dtype);
  constants->Set("epsilon", Literal(model.config.layernorm_epsilon));
  constants->View("out", model.width, model.width);
}

void InLinearSilu(const Model& model, Constants* constants) {
  constants->View("x", model.width, model.width, DType::kF32);
  constants->Weight("weight", 4 * model.attention, model.width, model.PackedType("uvqk.weight"),
                    model.special.products);
  constants->View("out", 4 * model.attention, 4 * model.attention, model.special.dtype);
}

// Where pages are int8, rows go to f32 ones first.
void ReshapeAndCache(const Model& model, Constants* constants) {
  constants->View("k", model.attention, 4 * model.attention, model.special.dtype);
  constants->View("v", model.attention, 4 * model.attention, model.special.dtype);
  const KvDType kept = model.special.kv_dtype;
  model.Layout(kept == KvDType::kInt8 ? KvDType::kF32 : kept, constants);
}

void QuantizePage(const Model& model, Constants* constants) {
  model.Layout(KvDType::kInt8, constants);
}

void HstuAttention(const Model& model, Constants* constants) {
  const bool silu = model.config.attention == AttentionKind::kSilu;
  // As the engine does: K and V in another type are made f32.
  const bool bf16 = model.special.kv_dtype == KvDType::kBF16;
  constants->Set("products", Literal(bf16 ? model.special.products : Products::kF32));
  constants->Set("kind", silu ? "AttentionKind::kSilu" : "AttentionKind::kSoftmax");
  constants->Set("scaling_seqlen", Literal(static_cast<float>(model.config.scaling_seqlen)));
  model.Layout(model.special.kv_dtype, constants);
  constants->Set("mask.window", model.config.max_attn_len);
  constants->Set("mask.group", model.config.target_group_size);
  constants->Set("mask.contextual_mask", model.config.contextual_mask ? "true" : "false");
  for (const char* view : {"q", "out", "q_after", "out_after", "group_k", "group_v"}) {
    constants->View(view, model.config.kv_channels, 4 * model.attention, model.special.dtype);
  }
  if (model.special.kv_dtype != KvDType::kInt8) constants->Set("own", "OwnPage()");
}

// Parts are whole panels wide. How many there are differs from call to call: chunks, ranks.
void AttentionUpdate(const Model& model, Constants* constants) {
  constants->Set("dim", RoundUp(model.config.kv_channels, kPanelWidth));
}

void NormMul(const Model& model, Constants* constants) {
  for (const char* view : {"x", "gate", "out"}) {
    constants->View(view, model.attention, 4 * model.attention, model.special.dtype);
  }
  constants->Set("epsilon", Literal(model.config.layernorm_epsilon));
}

void LinearResidual(const Model& model, Constants* constants) {
  constants->View("x", model.attention, 4 * model.attention, model.special.dtype);
  constants->Weight("weight", model.width, model.attention, model.PackedType("proj.weight"),
                    model.special.products);
  if (model.config.residual) {
    constants->View("residual", model.width, model.width, model.special.dtype);
  } else {
    constants->Set("residual", "ConstActivations()");
  }
  constants->View("out", model.width, model.width, model.special.dtype);
}

void PoolWindows(const Model& model, Constants* constants) {
  constants->View("waiting", model.width, model.width);
  constants->View("x", model.width, model.width, model.special.dtype);
  constants->View("out", model.width, model.width, model.special.dtype);
  if (model.config.stages.size() != 2) return;  // each stage has its own windows
  constants->Set("aggregation.window", model.config.stages[1].aggregation.window);
  constants->Set("aggregation.stride", model.config.stages[1].aggregation.stride);
}

void L2Norm(const Model& model, Constants* constants) {
  constants->View("x", model.width, model.width, model.special.dtype);
  constants->View("out", model.width, model.width);
}

// An operator whose calls all have the same constants.
struct Generator {
  const char* op;
  const char* function;
  void (*constants)(const Model& model, Constants* constants);
};

constexpr Generator kGenerators[] = {
    {"embed_tokens", "EmbedTokens", EmbedTokens},
    {"layer_norm", "LayerNorm", LayerNorm},
    {"in_linear_silu", "InLinearSilu", InLinearSilu},
    {"reshape_and_cache", "ReshapeAndCache", ReshapeAndCache},
    {"quantize_page", "QuantizePage", QuantizePage},
    {"hstu_attention", "HstuAttention", HstuAttention},
    {"attention_update", "AttentionUpdate", AttentionUpdate},
    {"norm_mul", "NormMul", NormMul},
    {"linear_residual", "LinearResidual", LinearResidual},
    {"pool_windows", "PoolWindows", PoolWindows},
    {"l2_norm", "L2Norm", L2Norm},
};

// What is generated for an operator: functions for the chosen instruction set, and those that call
// them from outside.
struct Functions {
  std::string op;
  std::string target;
  std::string exported;
};

std::string File(std::span<const Functions> all) {
  std::string includes;
  std::string target;
  std::string exported;
  for (const Functions& functions : all) {
    includes += fmt::format("#include \"kernels/{}-inl.h\"\n", functions.op);
    target += functions.target + "\n";
    exported += functions.exported;
  }
  return fmt::format(
      R"(// Generated by hstu compile: operators of one model.
#include <hwy/highway.h>

{}
HWY_BEFORE_NAMESPACE();
namespace hstu {{
namespace HWY_NAMESPACE {{
namespace {{

{}}}  // namespace
}}  // namespace HWY_NAMESPACE
}}  // namespace hstu
HWY_AFTER_NAMESPACE();

namespace hstu::artifact {{

{}
}}  // namespace hstu::artifact
)",
      includes, target, exported);
}

// A function with `parameters` behind its arguments, which are handed on as `passed`.
std::string Specialized(std::string_view function, std::string_view arguments,
                        std::string_view parameters, std::string_view passed,
                        const std::string& constants) {
  return fmt::format(
      "void {0}(const {1}Args& given{2}) {{\n  {1}Args args = given;\n{4}  "
      "{0}Body(args{3});\n}}\n",
      function, arguments, parameters, passed, constants);
}

std::string Exported(std::string_view function, std::string_view arguments,
                     std::string_view parameters, std::string_view passed) {
  return fmt::format("void {0}(const {1}Args& args{2}) {{ HWY_STATIC_DISPATCH({0})(args{3}); }}\n",
                     function, arguments, parameters, passed);
}

Functions Generate(const Generator& generator, const Model& model) {
  Constants constants;
  generator.constants(model, &constants);
  return {generator.op,
          Specialized(generator.function, generator.function, "", "", constants.text()),
          Exported(generator.function, generator.function, "", "")};
}

// The two halves of attention.
Functions GenerateAttentionChunks(const Model& model) {
  constexpr const char* kChunk = ", int64_t chunk, float* part";
  constexpr const char* kJoin = ", int64_t chunks, const float* parts";
  Constants constants;
  HstuAttention(model, &constants);
  const auto specialized = [&](const char* name, const char* parameters, const char* passed) {
    return Specialized(name, "HstuAttention", parameters, passed, constants.text());
  };
  return {"hstu_attention",
          specialized("HstuAttentionChunk", kChunk, ", chunk, part") + "\n" +
              specialized("HstuAttentionJoin", kJoin, ", chunks, parts"),
          Exported("HstuAttentionChunk", "HstuAttention", kChunk, ", chunk, part") +
              Exported("HstuAttentionJoin", "HstuAttention", kJoin, ", chunks, parts")};
}

// The head's layers differ: the weight's sizes tell which one it is.
Functions GenerateLinear(const Model& model) {
  std::string functions;
  std::string choice;
  const std::vector<int64_t>& sizes = model.config.prediction_head_arch;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int64_t n = sizes[i];
    const int64_t k = i == 0 ? model.width : sizes[i - 1];
    const DType dtype =
        PackedShape(model.files.Find(fmt::format("head.{}.weight", i))->dtype, n, k).dtype;
    const bool last = i + 1 == sizes.size();
    Constants constants;
    constants.View("x", k, k);
    constants.Weight("weight", n, k, dtype, Products::kF32);
    constants.Set("relu", last ? "false" : "true");
    constants.View("out", n, n);
    functions += fmt::format("void Layer{}(LinearArgs args) {{\n{}  LinearBody(args);\n}}\n\n", i,
                             constants.text());
    if (!last) {
      choice += fmt::format(
          "  if (args.relu && args.weight.n == {} && args.weight.k == {} && args.weight.dtype == "
          "{}) {{\n  ",
          n, k, Literal(dtype));
    }
    choice += fmt::format("  return Layer{}(args);\n{}", i, last ? "" : "  }\n");
  }
  functions += fmt::format("void Linear(const LinearArgs& args) {{\n{}}}\n", choice);
  return {"linear", functions, Exported("Linear", "Linear", "", "")};
}

bool Contains(const std::vector<std::string>& ops, std::string_view op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

std::string Join(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

// In the order of kernels/operator_table.h.
struct TableEntry {
  const char* op;
  const char* function;
};
constexpr TableEntry kTable[] = {
    {"embed_tokens", "EmbedTokens"},
    {"layer_norm", "LayerNorm"},
    {"in_linear_silu", "InLinearSilu"},
    {"reshape_and_cache", "ReshapeAndCache"},
    {"quantize_page", "QuantizePage"},
    {"hstu_attention", "HstuAttention"},
    {"hstu_attention", "HstuAttentionChunk"},
    {"hstu_attention", "HstuAttentionJoin"},
    {"attention_update", "AttentionUpdate"},
    {"norm_mul", "NormMul"},
    {"row_moments", "RowMoments"},
    {"norm_mul_moments", "NormMulMoments"},
    {"linear_residual", "LinearResidual"},
    {"pool_windows", "PoolWindows"},
    {"l2_norm", "L2Norm"},
    {"linear", "Linear"},
};
static_assert(std::size(kTable) * sizeof(AttentionUpdateFn*) == sizeof(Operators));

}  // namespace

bool HasGenerator(std::string_view op) {
  return op == "linear" ||
         std::any_of(std::begin(kGenerators), std::end(kGenerators),
                     [op](const Generator& generator) { return generator.op == op; });
}

std::vector<GeneratedFile> GenerateKernels(const ModelFiles& files,
                                           const Specialization& specialization,
                                           const std::vector<std::string>& ops) {
  const ModelConfig& config = files.config();
  const Model model{files, config, specialization, config.hidden_size, config.attention_width()};
  // Reading the headers takes a compiler longer than most operators do: small ones share a file.
  // What takes longest comes first.
  std::vector<Functions> attention;
  std::vector<Functions> projection;
  std::vector<Functions> products;
  std::vector<Functions> rows;
  for (const Generator& generator : kGenerators) {
    if (!Contains(ops, generator.op)) continue;
    const std::string_view op = generator.op;
    auto& unit = op == "hstu_attention"    ? attention
                 : op == "in_linear_silu"  ? projection
                 : op == "linear_residual" ? products
                                           : rows;
    unit.push_back(Generate(generator, model));
  }
  if (Contains(ops, "linear")) products.push_back(GenerateLinear(model));
  std::vector<Functions> chunks;
  if (!attention.empty() && specialization.kv_cache) {
    chunks.push_back(GenerateAttentionChunks(model));
  }
  std::vector<GeneratedFile> files_of_units;
  for (const auto& [name, unit] :
       {std::pair("attention_chunks", &chunks), std::pair("attention", &attention),
        std::pair("projection", &projection), std::pair("products", &products),
        std::pair("rows", &rows)}) {
    if (!unit->empty()) files_of_units.push_back({name, File(*unit)});
  }
  return files_of_units;
}

std::string GenerateBucket(int64_t seq_len, int64_t batch, const StepPlan& plan,
                           const Specialization& specialization,
                           const std::vector<std::string>& ops) {
  std::string declarations;
  std::string table;
  for (const TableEntry& entry : kTable) {
    const std::string_view function = entry.function;
    const bool half = function.ends_with("Chunk") || function.ends_with("Join");
    if (Contains(ops, entry.op) && (!half || specialization.kv_cache)) {
      declarations += fmt::format("{0}Fn {0};\n", function);
      table += fmt::format("        hstu::artifact::{},\n", function);
    } else {
      table += fmt::format("        nullptr,  // {}\n", function);
    }
  }
  return fmt::format(
      R"(// Generated by hstu compile: steps of up to {0} sequences of up to {1} tokens.
#include "compile/artifact_abi.h"

namespace hstu::artifact {{
{2}}}  // namespace hstu::artifact

namespace {{
constexpr int64_t kX[] = {{{3}}};
constexpr int64_t kUvqk[] = {{{4}}};
}}  // namespace

extern "C" {{
extern __attribute__((visibility("default"))) const hstu::ArtifactBucket hstu_artifact;
const hstu::ArtifactBucket hstu_artifact = {{
    hstu::kArtifactMagic,
    "{5}",
    {1},  // seq_len
    {0},  // batch
    {6},  // rows
    {7},  // arena_bytes
    {8},  // num_stages
    kX,
    kUvqk,
    {9},  // logits
    {{
{10}    }},
}};
}}
)",
      batch, seq_len, declarations, Join(plan.x), Join(plan.uvqk), kKernelAbi, plan.rows,
      plan.bytes, plan.x.size(), plan.logits, table);
}

}  // namespace hstu
