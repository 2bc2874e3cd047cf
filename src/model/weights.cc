#include "model/weights.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "model/safetensors.h"

namespace hstu {
namespace {

// A damaged disk or a mistaken path shouldn't be parsed for minutes.
constexpr std::size_t kMaxConfigBytes = 16 << 20;

std::string Describe(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// `found` as a weight of the shape that the config asks for.
Result<WeightView> CheckTensor(const std::string& path, const TensorSpec& spec,
                               const SafetensorsEntry* found) {
  if (found == nullptr) {
    return MakeError(ErrorCode::kBadModel,
                     "{}: tensor {} is missing; config.json asks for it with shape {}", path,
                     Excerpt(spec.name), Describe(spec.shape));
  }
  if (found->shape != spec.shape) {
    return MakeError(ErrorCode::kBadModel,
                     "{}: tensor {} has shape {}, but config.json asks for {}; correct one of them",
                     path, Excerpt(spec.name), Describe(found->shape), Describe(spec.shape));
  }
  if (!found->dtype) {
    return MakeError(ErrorCode::kBadModel,
                     "{}: tensor {} has dtype {}, but weights are F32, F16 or BF16; convert it",
                     path, Excerpt(spec.name), found->dtype_name);
  }
  return WeightView{*found->dtype, found->shape, found->bytes.data()};
}

}  // namespace

std::int64_t WeightView::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::span<const std::byte> WeightView::bytes() const {
  return {data, static_cast<std::size_t>(num_elements()) * SizeOf(dtype)};
}

Result<std::int64_t> FeatureTable::RowOf(std::int64_t id) const {
  if (vocabulary == nullptr) {
    if (id >= 0 && id < num_embeddings) return id;
    return MakeError(ErrorCode::kIdOutOfRange, "{} {} is outside its table [0, {})", feature, id,
                     num_embeddings);
  }
  if (const std::optional<std::int64_t> row = vocabulary->Find(id)) return *row;
  if (oov_row) return *oov_row;
  return MakeError(ErrorCode::kIdOutOfRange,
                   "{} {} is not in the vocabulary ({}) and the table has no oov_row", feature, id,
                   vocabulary->file_name());
}

Result<ModelConfig> ReadModelConfig(const std::string& folder) {
  const std::string path = folder + "/config.json";
  HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (file.bytes().size() > kMaxConfigBytes) {
    return MakeError(ErrorCode::kBadModel, "{}: it has {} bytes, more than the {} of any config",
                     path, file.bytes().size(), kMaxConfigBytes);
  }
  return ParseConfig(file.text(), path);
}

Result<ModelFiles> ModelFiles::Load(const std::string& folder, const ModelPart& part) {
  HSTU_ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(folder));
  HSTU_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(folder + "/model.safetensors"));
  ModelFiles model(folder, std::move(config), std::move(file));
  HSTU_RETURN_IF_ERROR(model.MapWeights(part));
  HSTU_RETURN_IF_ERROR(model.ReadVocabularies());
  model.ListFeatures();
  return model;
}

ModelFiles::ModelFiles(std::string folder, ModelConfig config, MappedFile file)
    : folder_(std::move(folder)),
      config_(std::move(config)),
      file_(std::move(file)),
      specs_(ListTensors(config_)) {}

Status ModelFiles::MapWeights(const ModelPart& part) {
  HSTU_ASSIGN_OR_RETURN(const Safetensors tensors, ParseSafetensors(file_.bytes(), file_.path()));
  header_ = tensors.header;
  std::unordered_map<std::string_view, const SafetensorsEntry*> by_name;
  for (const SafetensorsEntry& entry : tensors.entries) by_name.emplace(entry.name, &entry);
  for (const TensorSpec& spec : specs_) {
    const auto found = by_name.find(spec.name);
    HSTU_ASSIGN_OR_RETURN(
        WeightView weight,
        CheckTensor(file_.path(), spec, found == by_name.end() ? nullptr : found->second));
    if (spec.role == TensorRole::kTable) {
      file_.AdviseRandom(weight.bytes());
      if (part.Splits(weight.shape[0])) UnmapOthersRows(weight, part);
    }
    weights_.push_back(std::move(weight));
  }
  return {};
}

void ModelFiles::UnmapOthersRows(const WeightView& table, const ModelPart& part) {
  const RowSplit split{table.shape[0], part.table_ranks};
  const std::span<const std::byte> bytes = table.bytes();
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(table.shape[0]);
  const std::size_t begin = static_cast<std::size_t>(split.Begin(part.table_rank)) * row_bytes;
  const std::size_t end = static_cast<std::size_t>(split.Begin(part.table_rank + 1)) * row_bytes;
  file_.Unmap(bytes.first(begin));
  file_.Unmap(bytes.subspan(end));
}

Status ModelFiles::ReadVocabularies() {
  for (const EmbeddingTable& table : config_.embedding_tables) {
    std::unique_ptr<Vocabulary> vocabulary;
    if (!table.vocabulary.empty()) {
      const std::string path = folder_ + "/" + table.vocabulary;
      HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
      HSTU_ASSIGN_OR_RETURN(Vocabulary parsed,
                            Vocabulary::Parse(file.text(), path, table.num_embeddings));
      vocabulary = std::make_unique<Vocabulary>(std::move(parsed));
    }
    vocabularies_.push_back(std::move(vocabulary));
  }
  return {};
}

void ModelFiles::ListFeatures() {
  for (std::size_t i = 0; i < config_.embedding_tables.size(); ++i) {
    const EmbeddingTable& table = config_.embedding_tables[i];
    const WeightView& weight = *Find(fmt::format("embedding.{}.weight", table.name));
    for (const std::string& feature : table.features) {
      features_.push_back({feature, table.name, weight, table.num_embeddings,
                           vocabularies_[i].get(), table.oov_row});
    }
  }
}

const WeightView* ModelFiles::Find(std::string_view name) const {
  const auto found = std::find_if(specs_.begin(), specs_.end(),
                                  [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs_.end() ? nullptr : &weights_[found - specs_.begin()];
}

const FeatureTable* ModelFiles::FindFeature(std::string_view feature) const {
  const auto found = std::find_if(features_.begin(), features_.end(),
                                  [&](const FeatureTable& t) { return t.feature == feature; });
  return found == features_.end() ? nullptr : &*found;
}

const FeatureTable* ModelFiles::action() const {
  return config_.action_feature ? FindFeature(*config_.action_feature) : nullptr;
}

std::vector<const FeatureTable*> ModelFiles::contextual() const {
  std::vector<const FeatureTable*> tables;
  for (const std::string& feature : config_.contextual_features) {
    tables.push_back(FindFeature(feature));
  }
  return tables;
}

}  // namespace hstu
