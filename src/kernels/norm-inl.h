// Sums over a row and the LayerNorm that two operators share. Compiled once per target.
#if defined(HSTU_KERNELS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_NORM_INL_H_
#undef HSTU_KERNELS_NORM_INL_H_
#else
#define HSTU_KERNELS_NORM_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// The sum over a row of term(x), each lane in ascending order, then across lanes.
template <class T, class Term>
HWY_INLINE float RowSum(const T* HWY_RESTRICT x, int64_t size, const Term& term) {
  const FloatTag d;
  Floats sum = hn::Zero(d);
  ForVectors(size, [&](int64_t i, auto lanes)
                       HWY_ATTR { sum = hn::Add(sum, ZeroPast(term(Load(x + i, lanes)), lanes)); });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

struct RowMoments {
  float mean;
  float inverse_deviation;
};

template <class T>
HWY_INLINE RowMoments Moments(const T* HWY_RESTRICT x, int64_t size, float epsilon) {
  const FloatTag d;
  const float mean = RowSum(x, size, [](Floats v) HWY_ATTR { return v; }) / size;
  const Floats center = hn::Set(d, mean);
  const float variance = RowSum(x, size,
                                [&](Floats v) HWY_ATTR {
                                  const Floats diff = hn::Sub(v, center);
                                  return hn::Mul(diff, diff);
                                }) /
                         size;
  return {mean, 1.0f / std::sqrt(variance + epsilon)};
}

// layer_norm of the vector at i.
HWY_INLINE Floats Normalize(Floats x, RowMoments moments, Floats weight, Floats bias) {
  const FloatTag d;
  const Floats centered = hn::Sub(x, hn::Set(d, moments.mean));
  const Floats scaled = hn::Mul(centered, hn::Set(d, moments.inverse_deviation));
  return hn::MulAdd(scaled, weight, bias);
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_NORM_INL_H_
