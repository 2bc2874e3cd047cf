// Operator row_moments: what a LayerNorm needs of a row whose columns lie on several ranks.
#ifndef HSTU_KERNELS_ROW_MOMENTS_H_
#define HSTU_KERNELS_ROW_MOMENTS_H_

#include <cstdint>

#include "base/cpu.h"
#include "tensor/view.h"

namespace hstu {

// out row = [mean, sum of squared distances from it].
struct RowMomentsArgs {
  ConstActivations x;  // [m, n]
  float* out;          // [m, 2]
};

using RowMomentsFn = void(const RowMomentsArgs&);
RowMomentsFn* RowMomentsFor(Isa isa);
// The scalar reference: in double.
void RowMomentsPlain(const RowMomentsArgs& args);

// Moments of whole rows from those of `ranks` equal parts of `cols` columns, summed in the order of
// ranks: parts [ranks, m, 2] as above -> out [m, 2] = [mean, 1 / sqrt(variance + epsilon)]. Chan,
// Golub and LeVeque, "Algorithms for computing the sample variance", 1983, equation 2.1.
void JoinRowMoments(const float* parts, int64_t ranks, int64_t rows, int64_t cols, float epsilon,
                    float* out);

}  // namespace hstu

#endif  // HSTU_KERNELS_ROW_MOMENTS_H_
