#include "kernels/concat_nd_jagged.h"

#include <algorithm>

#include "base/error.h"

namespace hstu {
namespace {

Status CheckOffsets(std::span<const int64_t> offsets, int64_t rows, std::string_view name) {
  if (offsets.empty() || offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
      offsets.back() != rows) {
    return MakeError(ErrorCode::kBadArgument,
                     "concat_nd_jagged: the offsets of {} do not ascend from 0 to its {} rows",
                     name, rows);
  }
  return {};
}

Status CheckInputs(std::span<const JaggedView<const float>> inputs) {
  if (inputs.size() < 2) {
    return MakeError(ErrorCode::kBadArgument,
                     "concat_nd_jagged: {} tensors given, at least 2 are needed", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    HSTU_RETURN_IF_ERROR(
        CheckOffsets(inputs[i].offsets, inputs[i].values.rows, fmt::format("tensor {}", i)));
    if (inputs[i].batch() != inputs[0].batch()) {
      return MakeError(ErrorCode::kBadArgument,
                       "concat_nd_jagged: tensor {} has batch {}, tensor 0 has {}", i,
                       inputs[i].batch(), inputs[0].batch());
    }
    if (inputs[i].values.cols != inputs[0].values.cols) {
      return MakeError(ErrorCode::kBadArgument,
                       "concat_nd_jagged: tensor {} has {} columns, tensor 0 has {}", i,
                       inputs[i].values.cols, inputs[0].values.cols);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<int64_t>> ConcatNdJaggedOffsets(
    std::span<const JaggedView<const float>> inputs) {
  HSTU_RETURN_IF_ERROR(CheckInputs(inputs));
  std::vector<int64_t> offsets(inputs[0].offsets.size(), 0);
  for (const JaggedView<const float>& input : inputs) {
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += input.offsets[i];
  }
  return offsets;
}

Status ConcatNdJagged(std::span<const JaggedView<const float>> inputs, JaggedView<float> out) {
  HSTU_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, ConcatNdJaggedOffsets(inputs));
  HSTU_RETURN_IF_ERROR(CheckOffsets(out.offsets, out.values.rows, "the result"));
  if (!std::equal(offsets.begin(), offsets.end(), out.offsets.begin(), out.offsets.end()) ||
      out.values.cols != inputs[0].values.cols) {
    return MakeError(ErrorCode::kBadArgument,
                     "concat_nd_jagged: the result has shape [{}, {}], its inputs give [{}, {}]",
                     out.values.rows, out.values.cols, offsets.back(), inputs[0].values.cols);
  }
  for (int64_t i = 0; i < out.batch(); ++i) {
    int64_t row = out.offsets[i];
    for (const JaggedView<const float>& input : inputs) {
      const ConstMatrix sequence = input.Sequence(i);
      for (int64_t r = 0; r < sequence.rows; ++r) {
        std::copy_n(sequence.Row(r), sequence.cols, out.values.Row(row++));
      }
    }
  }
  return {};
}

}  // namespace hstu
