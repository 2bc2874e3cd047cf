// The scalar references of row_moments and norm_mul_moments.
#include "kernels/norm_mul_moments.h"
#include "kernels/row_moments.h"

namespace hstu {

void RowMomentsPlain(const RowMomentsArgs& args) {
  const ConstActivations& x = args.x;
  for (int64_t row = 0; row < x.rows; ++row) {
    double mean = 0.0;
    for (int64_t i = 0; i < x.cols; ++i) mean += x.At(row, i);
    mean /= static_cast<double>(x.cols);
    double squares = 0.0;
    for (int64_t i = 0; i < x.cols; ++i) squares += (x.At(row, i) - mean) * (x.At(row, i) - mean);
    args.out[2 * row] = static_cast<float>(mean);
    args.out[2 * row + 1] = static_cast<float>(squares);
  }
}

void NormMulMomentsPlain(const NormMulMomentsArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const double mean = args.moments[2 * row];
    const double inverse = args.moments[2 * row + 1];
    for (int64_t i = 0; i < args.x.cols; ++i) {
      const double value = (args.x.At(row, i) - mean) * inverse * args.weight[i] + args.bias[i];
      args.out.Set(row, i, static_cast<float>(value * args.gate.At(row, i)));
    }
  }
}

}  // namespace hstu
