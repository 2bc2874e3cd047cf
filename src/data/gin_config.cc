#include "data/gin_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/task_labels.h"

namespace hstu {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kHashedIds = 10'000'000;  // rows of tables of ids without a known number
constexpr std::int64_t kLargest = 1 << 30;       // of sizes; sums of a few of them fit

struct Table {
  const char* feature;  // and name
  std::int64_t rows;
};

// The features of a dataset and the sizes that the two projects give their tables.
struct DatasetTables {
  std::vector<Table> contextual;
  Table item;
  Table action;
};

DatasetTables KuaiRandTables(std::int64_t users, std::int64_t degrees, std::int64_t fans,
                             std::int64_t videos, std::int64_t actions) {
  return {{{"user_id", users},
           {"user_active_degree", degrees},
           {"follow_user_num_range", 9},
           {"fans_user_num_range", fans},
           {"friend_user_num_range", 8},
           {"register_days_range", 8}},
          {"video_id", videos},
          {"action_weights", actions}};
}

std::optional<DatasetTables> TablesOf(std::string_view dataset) {
  const Table movies = {"movie_id", kHashedIds};
  const Table ratings = {"rating", 11};
  const Table users = {"user_id", kHashedIds};
  if (dataset == "kuairand-pure") return KuaiRandTables(kHashedIds, 10, 10, kHashedIds, 226);
  if (dataset == "kuairand-1k") return KuaiRandTables(1000, 8, 9, kHashedIds, 233);
  if (dataset == "kuairand-27k") return KuaiRandTables(kHashedIds, 10, 10, 32'038'725, 246);
  if (dataset == "ml-1m") {
    return DatasetTables{
        {users, {"sex", 3}, {"age_group", 8}, {"occupation", 22}, {"zip_code", 3440}},
        movies,
        ratings};
  }
  if (dataset == "ml-20m") return DatasetTables{{users}, movies, ratings};
  return std::nullopt;
}

// Typed access to bindings, which remembers what was asked for.
class GinKeys {
 public:
  GinKeys(const GinFile& gin, std::string path) : gin_(gin), path_(std::move(path)) {}

  bool Has(std::string_view key) const { return gin_.Find(key) != nullptr; }

  Result<std::int64_t> Integer(const std::string& key, std::optional<std::int64_t> otherwise,
                               std::int64_t least = 1) {
    const GinBinding* binding = Use(key);
    if (binding == nullptr) {
      if (otherwise) return *otherwise;
      return Missing(key);
    }
    const auto* value = std::get_if<std::int64_t>(&binding->value.value);
    if (value == nullptr || *value < least || *value > kLargest) {
      return Wrong(*binding, fmt::format("an integer from {} to {}", least, kLargest));
    }
    return *value;
  }

  Result<bool> Boolean(const std::string& key, bool otherwise) {
    const GinBinding* binding = Use(key);
    if (binding == nullptr) return otherwise;
    const auto* value = std::get_if<bool>(&binding->value.value);
    if (value == nullptr) return Wrong(*binding, "True or False");
    return *value;
  }

  Result<double> Positive(const std::string& key, double otherwise) {
    const GinBinding* binding = Use(key);
    if (binding == nullptr) return otherwise;
    const auto* value = std::get_if<double>(&binding->value.value);
    if (value == nullptr || !(*value > 0)) return Wrong(*binding, "a number above 0 such as 1e-5");
    return *value;
  }

  Result<std::string> String(const std::string& key, std::optional<std::string> otherwise) {
    const GinBinding* binding = Use(key);
    if (binding == nullptr) {
      if (otherwise) return *otherwise;
      return Missing(key);
    }
    const auto* value = std::get_if<std::string>(&binding->value.value);
    if (value == nullptr) return Wrong(*binding, "a string in quotes");
    return *value;
  }

  Result<std::vector<std::int64_t>> Sizes(const std::string& key) {
    const GinBinding* binding = Use(key);
    if (binding == nullptr) return Missing(key);
    std::vector<std::int64_t> sizes;
    if (const auto* list = std::get_if<GinList>(&binding->value.value)) {
      for (const GinValue& element : *list) {
        const auto* size = std::get_if<std::int64_t>(&element.value);
        if (size == nullptr || *size < 1 || *size > kLargest) sizes = {}, list = nullptr;
        if (list == nullptr) break;
        sizes.push_back(*size);
      }
    }
    if (sizes.empty()) return Wrong(*binding, "a list of sizes such as [512, 8]");
    return sizes;
  }

  Error Wrong(const GinBinding& binding, const std::string& needed) const {
    return MakeError(ErrorCode::kBadData, "{}:{}: {} must be {}", binding.file, binding.line,
                     binding.key, needed);
  }

  Error Wrong(const std::string& key, const std::string& needed) const {
    return Wrong(*gin_.Find(key), needed);
  }

  Error Missing(const std::string& key) const {
    return MakeError(ErrorCode::kBadData, "{}: {} is missing", path_, key);
  }

  void Warn(const std::string& key, const std::string& what) {
    const GinBinding& binding = *gin_.Find(key);
    warnings_.push_back(fmt::format("{}:{}: {} {}", binding.file, binding.line, key, what));
  }

  // Those so far, and one for each key that nothing asked for.
  std::vector<std::string> Warnings() {
    for (const GinBinding& binding : gin_.bindings) {
      if (std::find(used_.begin(), used_.end(), binding.key) != used_.end()) continue;
      used_.push_back(binding.key);
      Warn(binding.key, "is not used: a config has no place for it");
    }
    return warnings_;
  }

 private:
  const GinBinding* Use(const std::string& key) {
    used_.push_back(key);
    return gin_.Find(key);
  }

  const GinFile& gin_;
  std::string path_;
  std::vector<std::string> used_;
  std::vector<std::string> warnings_;
};

class Converter {
 public:
  Converter(const GinFile& gin, const std::string& path) : gin_(gin), keys_(gin, path) {}

  Result<GinConversion> Convert(std::optional<std::int64_t> scaling_seqlen) {
    config_["architecture"] = "hstu_ranking";
    HSTU_RETURN_IF_ERROR(AddNetwork());
    HSTU_RETURN_IF_ERROR(AddSequence(scaling_seqlen));
    HSTU_RETURN_IF_ERROR(AddMask());
    AddTables();
    HSTU_RETURN_IF_ERROR(AddHead());
    return GinConversion{config_.dump(2) + "\n", keys_.Warnings()};
  }

 private:
  Status AddNetwork() {
    for (const char* key : {"hidden_size", "num_layers", "num_attention_heads", "kv_channels"}) {
      HSTU_ASSIGN_OR_RETURN(config_[key],
                            keys_.Integer(std::string("NetworkArgs.") + key, std::nullopt));
    }
    HSTU_ASSIGN_OR_RETURN(config_["layernorm_epsilon"],
                          keys_.Positive("NetworkArgs.norm_epsilon", 1e-5));
    config_["residual"] = true;
    config_["attention"] = "silu";
    // The arithmetic's type is chosen when the model is run, with --dtype; only spelling is
    // checked.
    HSTU_ASSIGN_OR_RETURN(std::string dtype, keys_.String("NetworkArgs.dtype_str", "bfloat16"));
    if (dtype != "bfloat16" && dtype != "float16" && dtype != "float32") {
      return keys_.Wrong("NetworkArgs.dtype_str", "'bfloat16', 'float16' or 'float32'");
    }
    return {};
  }

  Status AddSequence(std::optional<std::int64_t> scaling_seqlen) {
    HSTU_ASSIGN_OR_RETURN(std::string dataset,
                          keys_.String("DatasetArgs.dataset_name", std::nullopt));
    std::optional<DatasetTables> tables = TablesOf(dataset);
    if (!tables) {
      return keys_.Wrong("DatasetArgs.dataset_name",
                         "'kuairand-pure', 'kuairand-1k', 'kuairand-27k', 'ml-1m' or 'ml-20m'");
    }
    tables_ = *tables;
    auto contextual = static_cast<std::int64_t>(tables_.contextual.size());
    HSTU_ASSIGN_OR_RETURN(std::int64_t candidates,
                          keys_.Integer("DatasetArgs.max_num_candidates", std::nullopt));
    bool whole = keys_.Has("DatasetArgs.max_sequence_length");  // counts candidates in
    HSTU_ASSIGN_OR_RETURN(
        std::int64_t items,
        keys_.Integer(whole ? "DatasetArgs.max_sequence_length" : "DatasetArgs.max_history_seqlen",
                      std::nullopt));
    std::int64_t scaling = 2 * (whole ? items : items + candidates) + contextual;
    HSTU_ASSIGN_OR_RETURN(scaling, keys_.Integer("NetworkArgs.scaling_seqlen", scaling));
    config_["scaling_seqlen"] = scaling_seqlen.value_or(scaling);
    config_["max_history_tokens"] = 2 * items + contextual;
    config_["max_num_candidates"] = candidates;
    HSTU_ASSIGN_OR_RETURN(config_["num_position_buckets"],
                          keys_.Integer("NetworkArgs.num_position_buckets", 8192));
    return {};
  }

  Status AddMask() {
    config_["max_attn_len"] = 0;
    HSTU_ASSIGN_OR_RETURN(config_["target_group_size"],
                          keys_.Integer("NetworkArgs.target_group_size", 1));
    HSTU_ASSIGN_OR_RETURN(bool disabled,
                          keys_.Boolean("NetworkArgs.disable_contextual_mask", false));
    // Those projects' inference files, which say nothing of training, run without that mask.
    bool training = std::any_of(
        gin_.bindings.begin(), gin_.bindings.end(),
        [](const GinBinding& binding) { return binding.key.starts_with("TrainerArgs."); });
    config_["contextual_mask"] = training && !disabled;
    if (!training && !disabled && keys_.Has("NetworkArgs.disable_contextual_mask")) {
      keys_.Warn("NetworkArgs.disable_contextual_mask",
                 "= False counts in training files only, and this one has no TrainerArgs; set "
                 "contextual_mask in the config to have it");
    }
    return {};
  }

  void AddTables() {
    config_["item_feature"] = tables_.item.feature;
    config_["action_feature"] = tables_.action.feature;
    config_["contextual_features"] = Json::array();
    config_["embedding_tables"] = Json::array();
    for (const Table& table : tables_.contextual) {
      config_["contextual_features"].push_back(table.feature);
      AddTable(table);
    }
    AddTable(tables_.item);
    AddTable(tables_.action);
  }

  void AddTable(const Table& table) {
    config_["embedding_tables"].push_back({{"name", table.feature},
                                           {"num_embeddings", table.rows},
                                           {"features", Json::array({table.feature})}});
  }

  Status AddHead() {
    HSTU_ASSIGN_OR_RETURN(std::vector<std::int64_t> arch,
                          keys_.Sizes("RankingArgs.prediction_head_arch"));
    config_["prediction_head_arch"] = arch;
    HSTU_ASSIGN_OR_RETURN(config_["prediction_head_bias"],
                          keys_.Boolean("RankingArgs.prediction_head_bias", true));
    HSTU_ASSIGN_OR_RETURN(std::int64_t tasks, keys_.Integer("RankingArgs.num_tasks", arch.back()));
    if (tasks != arch.back()) {
      keys_.Warn("RankingArgs.num_tasks",
                 fmt::format("= {} differs from the {} outputs of prediction_head_arch; here every "
                             "output is a task",
                             tasks, arch.back()));
    }
    if (std::string_view(tables_.action.feature) == "action_weights" && arch.back() == 8) {
      config_["task_names"] = TaskLabels::OfBits(8).DefaultNames();
    }
    return {};
  }

  const GinFile& gin_;
  GinKeys keys_;
  DatasetTables tables_;
  Json config_;
};

}  // namespace

Result<GinConversion> ConfigFromGin(const GinFile& gin, const std::string& path,
                                    std::optional<std::int64_t> scaling_seqlen) {
  return Converter(gin, path).Convert(scaling_seqlen);
}

}  // namespace hstu
