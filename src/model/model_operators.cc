#include "model/model_operators.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace hstu {
namespace {

Result<std::vector<RowOperator>> Find(const std::vector<std::string>& names, const char* key,
                                      const OperatorRegistry& registry) {
  std::vector<RowOperator> found;
  for (const std::string& name : names) {
    const OperatorInfo* info = registry.Find(name);
    const AnyFunction run = info == nullptr ? nullptr : info->Variant(kLibraryVariant);
    if (run == nullptr) {
      return MakeError(ErrorCode::kBadArgument,
                       "config.json: {}: {}; put the library that offers it on the "
                       "operator path (--operator-path or HSTU_OPERATOR_PATH; `hstu ops` lists "
                       "what is there)",
                       key,
                       info == nullptr ? "no operator \"" + name + "\" is registered"
                                       : "\"" + name + "\" is built in, and no row operator");
    }
    if (info->num_inputs != 1) {
      return MakeError(ErrorCode::kBadArgument,
                       "config.json: {}: \"{}\" of {} has {} inputs; an operator of a "
                       "model has 1",
                       key, name, info->origin, info->num_inputs);
    }
    found.push_back({name, info->origin, reinterpret_cast<void (*)(const hstuRowsArgs*)>(run)});
  }
  return found;
}

}  // namespace

Result<ModelOperators> FindModelOperators(const ModelConfig& config,
                                          const OperatorRegistry& registry) {
  ModelOperators operators;
  HSTU_ASSIGN_OR_RETURN(operators.embedding,
                        Find(config.embedding_operators, "embedding_operators", registry));
  HSTU_ASSIGN_OR_RETURN(operators.head, Find(config.head_operators, "head_operators", registry));
  return operators;
}

void RunRowOperator(const RowOperator& op, const Activations& x, float* scratch) {
  const bool f32 = x.dtype == DType::kF32;
  const Matrix rows = f32 ? Matrix{x.RowAs<float>(0), x.rows, x.cols, x.stride}
                          : Matrix{scratch, x.rows, x.cols, x.cols};
  for (int64_t row = 0; !f32 && row < x.rows; ++row) CopyAsFloats(x, row, rows.Row(row));
  const float* input = rows.data;
  const hstuRowsArgs args{&input, &rows.stride, rows.data, rows.stride, rows.rows, rows.cols};
  op.run(&args);
  if (f32) return;
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t i = 0; i < x.cols; ++i) x.Set(row, i, rows.Row(row)[i]);
  }
}

Result<std::string> IdentityOf(const std::vector<RowOperator>& operators) {
  if (operators.empty()) return std::string();
  Hasher hash;
  for (const RowOperator& op : operators) {
    HSTU_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(op.file));
    hash.Add(op.name);
    hash.Add(file.bytes().data(), file.bytes().size());
  }
  return hash.Hex();
}

}  // namespace hstu
