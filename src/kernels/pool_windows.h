// Operator pool_windows: means over windows of one stage's outputs, the next stage's inputs.
#ifndef HSTU_KERNELS_POOL_WINDOWS_H_
#define HSTU_KERNELS_POOL_WINDOWS_H_

#include "base/cpu.h"
#include "kernels/stages.h"
#include "tensor/view.h"

namespace hstu {

// The inputs are the rows of `waiting`, which an earlier step left, then those of `x`.
// out row j = mean of the inputs [first + j * stride, first + j * stride + window).
// Summed in ascending order, then divided: the bits don't depend on where `waiting` ends.
struct PoolWindowsArgs {
  Aggregation aggregation;
  ConstMatrix waiting;  // [w, C]
  ConstActivations x;   // [n, C]
  int64_t first;        // may be in either
  Activations out;      // [windows, C], of x's type; all their inputs are there
};

using PoolWindowsFn = void(const PoolWindowsArgs&);
PoolWindowsFn* PoolWindowsFor(Isa isa);
// The scalar reference: in double.
void PoolWindowsPlain(const PoolWindowsArgs& args);

}  // namespace hstu

#endif  // HSTU_KERNELS_POOL_WINDOWS_H_
