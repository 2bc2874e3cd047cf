#include "model/config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "model/config_reader.h"

namespace hstu {
namespace {

using nlohmann::json;

// Far beyond any model that fits a machine, and such that a tensor's bytes fit 62 bits: the widest
// row has 2^18 elements, the longest table 2^40 rows.
constexpr Range kWidth{1, 1 << 18};
constexpr Range kLayers{1, 4096};
constexpr Range kTableRows{1, std::int64_t{1} << 40};
constexpr Range kTokens{1, 1 << 30};
constexpr std::size_t kMaxTables = 4096;
constexpr std::size_t kMaxHeadLayers = 64;

Status ReadSizes(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(config.hidden_size, reader.Integer("hidden_size", kWidth));
  HSTU_ASSIGN_OR_RETURN(config.num_layers, reader.Integer("num_layers", kLayers));
  HSTU_ASSIGN_OR_RETURN(config.num_attention_heads, reader.Integer("num_attention_heads", kWidth));
  const Range channels{1, kWidth.most / config.num_attention_heads};
  HSTU_ASSIGN_OR_RETURN(config.kv_channels, reader.Integer("kv_channels", channels));
  HSTU_ASSIGN_OR_RETURN(config.layernorm_epsilon, reader.Positive("layernorm_epsilon", 1.0f));
  HSTU_ASSIGN_OR_RETURN(config.residual, reader.Boolean("residual", true));
  HSTU_ASSIGN_OR_RETURN(config.max_history_tokens, reader.Integer("max_history_tokens", kTokens));
  HSTU_ASSIGN_OR_RETURN(config.max_num_candidates, reader.Integer("max_num_candidates", kTokens));
  HSTU_ASSIGN_OR_RETURN(config.num_position_buckets,
                        reader.Integer("num_position_buckets", kTokens));
  return {};
}

Status ReadAttention(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(const std::optional<std::string> kind, reader.OptionalString("attention"));
  if (kind == "softmax") {
    config.attention = AttentionKind::kSoftmax;
  } else if (kind && kind != "silu") {
    return reader.Wrong("attention", *kind, "it must be \"silu\" or \"softmax\"");
  }
  // Softmax has no divisor, so it needs none.
  const bool is_softmax = config.attention == AttentionKind::kSoftmax;
  HSTU_ASSIGN_OR_RETURN(config.scaling_seqlen,
                        reader.Integer("scaling_seqlen", kTokens,
                                       is_softmax ? std::optional(kTokens.least) : std::nullopt));
  HSTU_ASSIGN_OR_RETURN(config.max_attn_len, reader.Integer("max_attn_len", {0, kTokens.most}, 0));
  HSTU_ASSIGN_OR_RETURN(config.target_group_size, reader.Integer("target_group_size", kTokens, 1));
  HSTU_ASSIGN_OR_RETURN(config.contextual_mask, reader.Boolean("contextual_mask", false));
  return {};
}

Result<EmbeddingTable> ReadTable(const ConfigReader& reader) {
  EmbeddingTable table;
  HSTU_ASSIGN_OR_RETURN(table.name, reader.String("name"));
  HSTU_ASSIGN_OR_RETURN(table.num_embeddings, reader.Integer("num_embeddings", kTableRows));
  HSTU_ASSIGN_OR_RETURN(table.features, reader.Strings("features"));
  HSTU_ASSIGN_OR_RETURN(const std::optional<std::string> file, reader.OptionalString("vocabulary"));
  const Range rows{0, table.num_embeddings - 1};
  constexpr std::int64_t kNone = -1;
  HSTU_ASSIGN_OR_RETURN(const std::int64_t oov_row, reader.Integer("oov_row", rows, kNone));
  if (file) {
    // A config must not name files of its reader's machine.
    if (file->find('/') != file->npos || *file == "." || *file == "..") {
      return reader.Wrong("vocabulary", *file,
                          "it must be the name of a file in the model folder, without a path");
    }
    table.vocabulary = *file;
  }
  if (oov_row != kNone) {
    if (!file) {
      return reader.Wrong("oov_row", oov_row,
                          "only a table with a vocabulary can have one; name the file, or remove "
                          "oov_row");
    }
    table.oov_row = oov_row;
  }
  return table;
}

Status ReadTables(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(const json* tables, reader.Array("embedding_tables"));
  const std::string expected = fmt::format("it must be an array of 1 to {} tables", kMaxTables);
  if (tables == nullptr) return reader.Missing("embedding_tables", expected);
  if (tables->empty() || tables->size() > kMaxTables) {
    return reader.Wrong("embedding_tables", *tables, expected);
  }
  std::set<std::string> names;
  std::map<std::string, std::string> table_of;  // feature -> table
  for (std::size_t i = 0; i < tables->size(); ++i) {
    const std::string key = fmt::format("embedding_tables[{}]", i);
    if (!(*tables)[i].is_object()) {
      return reader.Wrong(key, (*tables)[i],
                          "it must be an object with name, num_embeddings, "
                          "features");
    }
    const ConfigReader table_reader((*tables)[i], reader.prefix() + key + ".");
    HSTU_ASSIGN_OR_RETURN(EmbeddingTable table, ReadTable(table_reader));
    if (!names.insert(table.name).second) {
      return table_reader.Wrong("name", table.name, "another table has this name; rename one");
    }
    for (const std::string& feature : table.features) {
      const auto [other, inserted] = table_of.emplace(feature, table.name);
      if (!inserted) {
        return table_reader.Wrong(
            "features", feature,
            fmt::format("table \"{}\" has this feature already; keep it in one", other->second));
      }
    }
    config.embedding_tables.push_back(std::move(table));
  }
  return {};
}

Status CheckHasTable(const ConfigReader& reader, const ModelConfig& config, const std::string& key,
                     const std::string& feature) {
  for (const EmbeddingTable& table : config.embedding_tables) {
    if (std::find(table.features.begin(), table.features.end(), feature) != table.features.end()) {
      return {};
    }
  }
  return reader.Wrong(key, feature,
                      "no table has this feature; add it to the features of one of "
                      "embedding_tables");
}

Status ReadFeatures(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(config.item_feature, reader.String("item_feature"));
  HSTU_ASSIGN_OR_RETURN(config.action_feature, reader.OptionalString("action_feature"));
  HSTU_ASSIGN_OR_RETURN(config.contextual_features, reader.Strings("contextual_features"));
  HSTU_ASSIGN_OR_RETURN(config.embedding_operators, reader.Strings("embedding_operators"));
  HSTU_RETURN_IF_ERROR(CheckHasTable(reader, config, "item_feature", config.item_feature));
  if (config.action_feature) {
    HSTU_RETURN_IF_ERROR(CheckHasTable(reader, config, "action_feature", *config.action_feature));
    if (*config.action_feature == config.item_feature) {
      return reader.Wrong("action_feature", *config.action_feature,
                          "it is the item_feature too; an action needs a feature of its own");
    }
  }
  for (std::size_t i = 0; i < config.contextual_features.size(); ++i) {
    HSTU_RETURN_IF_ERROR(CheckHasTable(reader, config, fmt::format("contextual_features[{}]", i),
                                       config.contextual_features[i]));
  }
  const auto least =
      static_cast<std::int64_t>(config.contextual_features.size()) + config.tokens_per_item();
  if (config.max_history_tokens < least) {
    return reader.Wrong("max_history_tokens", config.max_history_tokens,
                        fmt::format("contextual features and one item take {} tokens", least));
  }
  return {};
}

Status ReadHead(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(config.prediction_head_arch,
                        reader.Integers("prediction_head_arch", kWidth, kMaxHeadLayers));
  HSTU_ASSIGN_OR_RETURN(config.prediction_head_bias, reader.Boolean("prediction_head_bias", true));
  HSTU_ASSIGN_OR_RETURN(config.task_names, reader.Strings("task_names"));
  HSTU_ASSIGN_OR_RETURN(config.head_operators, reader.Strings("head_operators"));
  const auto names = static_cast<std::int64_t>(config.task_names.size());
  if (names > 0 && names != config.num_tasks()) {
    return reader.Wrong("task_names", config.task_names,
                        fmt::format("it has {} names, and the last of prediction_head_arch gives "
                                    "{} tasks; name each of them, or none",
                                    names, config.num_tasks()));
  }
  return {};
}

Status CheckKind(const ConfigReader& reader) {
  HSTU_ASSIGN_OR_RETURN(const std::string architecture, reader.String("architecture"));
  if (architecture != "hstu_ranking") {
    return reader.Wrong("architecture", architecture, "only \"hstu_ranking\" is known");
  }
  return {};
}

Result<Stage> ReadStage(const ConfigReader& reader, bool is_first) {
  Stage stage;
  HSTU_ASSIGN_OR_RETURN(stage.num_layers, reader.Integer("num_layers", kLayers));
  Aggregation& aggregation = stage.aggregation;
  if (is_first) {
    for (const char* key : {"aggregation_window", "aggregation_stride"}) {
      constexpr std::int64_t kNone = 0;
      HSTU_ASSIGN_OR_RETURN(const std::int64_t value, reader.Integer(key, kTokens, kNone));
      if (value == kNone) continue;
      return reader.Wrong(key, value, "the first stage sees every token; remove it");
    }
    return stage;
  }
  HSTU_ASSIGN_OR_RETURN(aggregation.window, reader.Integer("aggregation_window", kTokens));
  HSTU_ASSIGN_OR_RETURN(aggregation.stride, reader.Integer("aggregation_stride", kTokens));
  if (aggregation.stride > aggregation.window) {
    return reader.Wrong("aggregation_stride", aggregation.stride,
                        fmt::format("it must be in [1, {}], the aggregation_window: beyond it "
                                    "tokens would be in no window",
                                    aggregation.window));
  }
  return stage;
}

Status ReadStages(const ConfigReader& reader, ModelConfig& config) {
  HSTU_ASSIGN_OR_RETURN(const json* stages, reader.Array("stages"));
  if (stages == nullptr || stages->empty()) {
    config.stages = {{config.num_layers, {}}};
    return {};
  }
  std::int64_t layers = 0;
  std::int64_t strides = 1;
  for (std::size_t i = 0; i < stages->size(); ++i) {
    const std::string key = fmt::format("stages[{}]", i);
    if (!(*stages)[i].is_object()) {
      return reader.Wrong(key, (*stages)[i],
                          "it must be an object with num_layers and, after the first, "
                          "aggregation_window and aggregation_stride");
    }
    const ConfigReader stage_reader((*stages)[i], reader.prefix() + key + ".");
    HSTU_ASSIGN_OR_RETURN(const Stage stage, ReadStage(stage_reader, i == 0));
    layers += stage.num_layers;
    if (stage.aggregation.stride > kTokens.most / strides) {
      return stage_reader.Wrong("aggregation_stride", stage.aggregation.stride,
                                fmt::format("the strides of all stages multiplied must be at most "
                                            "{}",
                                            kTokens.most));
    }
    strides *= stage.aggregation.stride;
    config.stages.push_back(stage);
  }
  if (layers != config.num_layers) {
    return reader.Wrong("stages", *stages,
                        fmt::format("they have {} layers, num_layers is {}; make them the same",
                                    layers, config.num_layers));
  }
  return {};
}

nlohmann::ordered_json StagesJson(const std::vector<Stage>& stages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Stage& stage : stages) {
    nlohmann::ordered_json entry{{"num_layers", stage.num_layers}};
    if (!list.empty()) {
      entry["aggregation_window"] = stage.aggregation.window;
      entry["aggregation_stride"] = stage.aggregation.stride;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Result<ModelConfig> ParseConfig(std::string_view text, std::string_view file_name) {
  const Result<json> parsed = ParseJson(text);
  if (!parsed.ok()) {
    return MakeError(ErrorCode::kBadModel,
                     "{}: it is no valid JSON (which has no NaN or Infinity): {}", file_name,
                     parsed.error().message);
  }
  const json& object = parsed.value();
  if (!object.is_object()) {
    return MakeError(ErrorCode::kBadModel, "{}: it holds {}; it must hold a JSON object", file_name,
                     Excerpt(object));
  }
  const ConfigReader reader(object, std::string(file_name) + ": ");
  ModelConfig config;
  HSTU_RETURN_IF_ERROR(CheckKind(reader));
  HSTU_RETURN_IF_ERROR(ReadSizes(reader, config));
  HSTU_RETURN_IF_ERROR(ReadStages(reader, config));
  HSTU_RETURN_IF_ERROR(ReadAttention(reader, config));
  HSTU_RETURN_IF_ERROR(ReadTables(reader, config));
  HSTU_RETURN_IF_ERROR(ReadFeatures(reader, config));
  HSTU_RETURN_IF_ERROR(ReadHead(reader, config));
  return config;
}

nlohmann::ordered_json ToJson(const ModelConfig& config) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const EmbeddingTable& table : config.embedding_tables) {
    nlohmann::ordered_json entry{{"name", table.name},
                                 {"num_embeddings", table.num_embeddings},
                                 {"features", table.features}};
    if (!table.vocabulary.empty()) entry["vocabulary"] = table.vocabulary;
    if (table.oov_row) entry["oov_row"] = *table.oov_row;
    tables.push_back(std::move(entry));
  }
  nlohmann::ordered_json object{
      {"architecture", "hstu_ranking"},
      {"hidden_size", config.hidden_size},
      {"num_layers", config.num_layers},
      {"num_attention_heads", config.num_attention_heads},
      {"kv_channels", config.kv_channels},
      // As a float reads best: 1e-05, not 9.999999747378752e-06.
      {"layernorm_epsilon", json::parse(fmt::format("{}", config.layernorm_epsilon))},
      {"residual", config.residual},
      {"attention", config.attention == AttentionKind::kSilu ? "silu" : "softmax"},
      {"scaling_seqlen", config.scaling_seqlen},
      {"max_history_tokens", config.max_history_tokens},
      {"max_num_candidates", config.max_num_candidates},
      {"max_attn_len", config.max_attn_len},
      {"target_group_size", config.target_group_size},
      {"contextual_mask", config.contextual_mask},
      {"num_position_buckets", config.num_position_buckets},
      {"item_feature", config.item_feature},
      {"action_feature", nullptr},
      {"contextual_features", config.contextual_features},
      {"embedding_tables", std::move(tables)},
      {"prediction_head_arch", config.prediction_head_arch},
      {"prediction_head_bias", config.prediction_head_bias},
  };
  if (config.action_feature) object["action_feature"] = *config.action_feature;
  if (!config.task_names.empty()) object["task_names"] = config.task_names;
  if (!config.embedding_operators.empty()) {
    object["embedding_operators"] = config.embedding_operators;
  }
  if (!config.head_operators.empty()) object["head_operators"] = config.head_operators;
  if (config.stages.size() > 1) object["stages"] = StagesJson(config.stages);
  return object;
}

}  // namespace hstu
