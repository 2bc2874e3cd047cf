// Operator concat_nd_jagged: joins jagged tensors sequence by sequence.
#ifndef HSTU_KERNELS_CONCAT_ND_JAGGED_H_
#define HSTU_KERNELS_CONCAT_ND_JAGGED_H_

#include <span>
#include <vector>

#include "hstu/hstu.hpp"
#include "tensor/jagged.h"

namespace hstu {

// The offsets of the result: sequence i is as long as the inputs' sequences i together. Errors
// (kBadArgument) name the tensor: fewer than two, batches or columns that differ, offsets that do
// not ascend from 0 to the number of rows.
Result<std::vector<int64_t>> ConcatNdJaggedOffsets(std::span<const JaggedView<const float>> inputs);

// out's sequence i = input 0's sequence i, input 1's sequence i, ... `out` has the offsets of
// ConcatNdJaggedOffsets and shares no memory with an input.
Status ConcatNdJagged(std::span<const JaggedView<const float>> inputs, JaggedView<float> out);

}  // namespace hstu

#endif  // HSTU_KERNELS_CONCAT_ND_JAGGED_H_
