// What attention_update needs of its tensors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/attention_update.h"

namespace hstu {
namespace {

// Products of sizes stay far from overflow.
constexpr int64_t kMostElements = int64_t{1} << 48;

Status CheckTensor(const char* name, const TensorView* tensor, const char* form, int64_t rank) {
  if (tensor == nullptr) {
    return MakeError(ErrorCode::kBadArgument, "{} is NULL; it is {}", name, form);
  }
  if (static_cast<int64_t>(tensor->shape.size()) != rank) {
    return MakeError(ErrorCode::kBadArgument, "{} has rank {}; it is {}", name,
                     tensor->shape.size(), form);
  }
  int64_t elements = 1;
  for (const int64_t size : tensor->shape) {
    if (size < 0 || size > kMostElements || elements * size > kMostElements) {
      return MakeError(ErrorCode::kBadArgument,
                       "{} has shape [{}]; sizes are at least 0 and make at "
                       "most 2^48 elements",
                       name, fmt::join(tensor->shape, ", "));
    }
    elements *= std::max<int64_t>(1, size);
  }
  if (tensor->data == nullptr && elements > 0 && tensor->shape[0] > 0) {
    return MakeError(ErrorCode::kBadArgument, "{}: data is NULL", name);
  }
  int64_t stride = 1;
  for (size_t i = tensor->shape.size(); i-- > 0;) {
    if (tensor->shape[i] > 1 && tensor->strides[i] != stride) {
      return MakeError(ErrorCode::kBadArgument,
                       "{} has shape [{}] and strides [{}]; it must be contiguous: copy it first",
                       name, fmt::join(tensor->shape, ", "), fmt::join(tensor->strides, ", "));
    }
    stride *= tensor->shape[i];
  }
  return {};
}

Status CheckShape(const char* name, const TensorView& tensor, const std::vector<int64_t>& shape,
                  const char* form) {
  if (std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end())) return {};
  return MakeError(ErrorCode::kBadArgument, "{} has shape [{}]; {} needs [{}]", name,
                   fmt::join(tensor.shape, ", "), form, fmt::join(shape, ", "));
}

Status CheckType(const char* name, const TensorView& tensor, DType dtype, const char* why) {
  if (tensor.dtype == dtype) return {};
  return MakeError(ErrorCode::kBadArgument, "{} is {}; {} {}", name, NameOf(tensor.dtype), why,
                   NameOf(dtype));
}

}  // namespace

Result<AttentionUpdateArgs> CheckAttentionUpdate(const TensorView* lse, const TensorView* local_out,
                                                 int64_t update_type, const TensorView* out,
                                                 const TensorView* lse_out) {
  if (update_type != 0 && update_type != 1) {
    return MakeError(ErrorCode::kBadArgument, "updateType {}: 0 gives out, 1 gives out and lseOut",
                     update_type);
  }
  HSTU_RETURN_IF_ERROR(CheckTensor("lse", lse, "[sp, r]", 2));
  HSTU_RETURN_IF_ERROR(CheckTensor("localOut", local_out, "[sp, r, d]", 3));
  HSTU_RETURN_IF_ERROR(CheckTensor("out", out, "[r, d]", 2));
  if (update_type == 1) HSTU_RETURN_IF_ERROR(CheckTensor("lseOut", lse_out, "[r]", 1));
  const int64_t sp = lse->shape[0];
  const int64_t rows = lse->shape[1];
  const int64_t dim = local_out->shape[2];
  if (sp < 1) {
    return MakeError(ErrorCode::kBadArgument, "lse has shape [{}]; sp is at least 1",
                     fmt::join(lse->shape, ", "));
  }
  HSTU_RETURN_IF_ERROR(
      CheckShape("localOut", *local_out, {sp, rows, dim}, "[sp, r, d] beside lse [sp, r]"));
  HSTU_RETURN_IF_ERROR(CheckShape("out", *out, {rows, dim}, "[r, d] beside localOut [sp, r, d]"));
  HSTU_RETURN_IF_ERROR(CheckType("lse", *lse, DType::kF32, "it must be"));
  HSTU_RETURN_IF_ERROR(CheckType("out", *out, local_out->dtype, "localOut is"));
  AttentionUpdateArgs args;
  if (update_type == 1) {
    HSTU_RETURN_IF_ERROR(CheckShape("lseOut", *lse_out, {rows}, "[r] beside lse [sp, r]"));
    HSTU_RETURN_IF_ERROR(CheckType("lseOut", *lse_out, DType::kF32, "it must be"));
    args.lse_out = lse_out->data;
  }
  args.sp = sp;
  args.rows = rows;
  args.dim = dim;
  args.dtype = local_out->dtype;
  args.lse = lse->data;
  args.parts = local_out->data;
  args.out = out->data;
  args.row_end = rows;
  return args;
}

}  // namespace hstu
