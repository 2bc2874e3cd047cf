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

Moments MomentsOf(const float* x, int64_t size, double epsilon) {
  double sum = 0.0;
  for (int64_t i = 0; i < size; ++i) sum += x[i];
  const double mean = sum / size;
  double squares = 0.0;
  for (int64_t i = 0; i < size; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, std::sqrt(squares / size + epsilon)};
}

}  // namespace

void LayerNormPlain(const LayerNormArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const float* x = args.x.Row(row);
    const Moments moments = MomentsOf(x, args.x.cols, args.epsilon);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      const double normed = (x[i] - moments.mean) / moments.deviation;
      args.out.Row(row)[i] = static_cast<float>(normed * args.weight[i] + args.bias[i]);
    }
  }
}

void NormMulPlain(const NormMulArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const float* x = args.x.Row(row);
    const float* gate = args.gate.Row(row);
    const Moments moments = MomentsOf(x, args.x.cols, args.epsilon);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      const double normed = (x[i] - moments.mean) / moments.deviation;
      const double value = normed * args.weight[i] + args.bias[i];
      args.out.Row(row)[i] = static_cast<float>(value * gate[i]);
    }
  }
}

void L2NormPlain(const L2NormArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const float* x = args.x.Row(row);
    double squares = 0.0;
    for (int64_t i = 0; i < args.x.cols; ++i) squares += static_cast<double>(x[i]) * x[i];
    const double norm = std::max(std::sqrt(squares), 1e-6);
    for (int64_t i = 0; i < args.x.cols; ++i) {
      args.out.Row(row)[i] = static_cast<float>(x[i] / norm);
    }
  }
}

}  // namespace hstu
