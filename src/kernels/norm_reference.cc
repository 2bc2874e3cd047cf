// The scalar references of layer_norm, norm_mul and l2_norm, in double.
#include <algorithm>
#include <cmath>

#include "kernels/l2_norm.h"
#include "kernels/layer_norm.h"
#include "kernels/norm_mul.h"

namespace hstu {
namespace {

struct Moments {
  double mean;
  double deviation;
};

Moments MomentsOf(const ConstActivations& x, int64_t row, double epsilon) {
  double sum = 0.0;
  for (int64_t i = 0; i < x.cols; ++i) sum += x.At(row, i);
  const double mean = sum / x.cols;
  double squares = 0.0;
  for (int64_t i = 0; i < x.cols; ++i) squares += (x.At(row, i) - mean) * (x.At(row, i) - mean);
  return {mean, std::sqrt(squares / x.cols + epsilon)};
}

}  // namespace

void LayerNormPlain(const LayerNormArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const Moments moments = MomentsOf(args.x, row, args.epsilon);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      const double normed = (args.x.At(row, i) - moments.mean) / moments.deviation;
      args.out.Row(row)[i] = static_cast<float>(normed * args.weight[i] + args.bias[i]);
    }
  }
}

void NormMulPlain(const NormMulArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const Moments moments = MomentsOf(args.x, row, args.epsilon);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      const double normed = (args.x.At(row, i) - moments.mean) / moments.deviation;
      const double value = normed * args.weight[i] + args.bias[i];
      args.out.Set(row, i, static_cast<float>(value * args.gate.At(row, i)));
    }
  }
}

void L2NormPlain(const L2NormArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    double squares = 0.0;
    for (int64_t i = 0; i < args.x.cols; ++i) {
      squares += static_cast<double>(args.x.At(row, i)) * args.x.At(row, i);
    }
    const double norm = std::max(std::sqrt(squares), 1e-6);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      args.out.Row(row)[i] = static_cast<float>(args.x.At(row, i) / norm);
    }
  }
}

}  // namespace hstu
