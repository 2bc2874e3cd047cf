// Exponential and SiLU of vectors. Compiled once per target.
#if defined(HSTU_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_MATH_INL_H_
#undef HSTU_KERNELS_MATH_INL_H_
#else
#define HSTU_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.693147181f;

// Adding this to a small x rounds x to an integer, which then stands in the sum's lowest bits.
constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23

// 2^f for f = kSign * g in [-0.5, 0.5], by the minimax polynomial of degree 5 (Remez; 7.5e-8).
template <int kSign>
HWY_INLINE Floats Exp2Fraction(Floats g) {
  const FloatTag d;
  Floats p = hn::Set(d, kSign * 1.327647198e-3f);
  p = hn::MulAdd(p, g, hn::Set(d, 9.675541334e-3f));
  p = hn::MulAdd(p, g, hn::Set(d, kSign * 5.550713274e-2f));
  p = hn::MulAdd(p, g, hn::Set(d, 2.402211972e-1f));
  p = hn::MulAdd(p, g, hn::Set(d, kSign * 6.931469671e-1f));
  return hn::MulAdd(p, g, hn::Set(d, 1.000000072f));
}

// 2^x for x up to 127, with a relative error of 2e-7; exactly 0 below -126.5 (also at -infinity).
HWY_INLINE Floats Exp2(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  x = hn::Max(x, hn::Set(d, -127.0f));
  const Floats rounder = hn::Set(d, kRounder + 127.0f);  // the biased exponent, in place
  const Floats rounded = hn::Add(x, rounder);
  const Floats fraction = hn::Sub(x, hn::Sub(rounded, rounder));
  const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, rounded)));
  return hn::Mul(Exp2Fraction<1>(fraction), power);
}

// t / (1 + 2^-t), which is silu(s) / ln(2) for t = s * log2(e). Below -126, where it is less than
// 1e-35, it stays what it is at -126.
HWY_INLINE Floats SiluBase2(Floats t) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  t = hn::Max(t, hn::Set(d, -126.0f));
  const Floats exponent = hn::Min(t, hn::Set(d, 126.0f));
  const Floats rounder = hn::Set(d, kRounder);
  const Floats rounded = hn::Sub(rounder, exponent);  // of -t
  const Floats minus_fraction = hn::Add(exponent, hn::Sub(rounded, rounder));
  const auto bits = hn::BitCast(di, Exp2Fraction<-1>(minus_fraction));
  const auto shift = hn::ShiftLeft<23>(hn::BitCast(di, rounded));
  const Floats power = hn::BitCast(d, hn::Add(bits, shift));
  return hn::Div(t, hn::Add(hn::Set(d, 1.0f), power));
}

// x / (1 + exp(-x))
HWY_INLINE Floats Silu(Floats x) {
  const FloatTag d;
  return hn::Mul(SiluBase2(hn::Mul(x, hn::Set(d, kLog2E))), hn::Set(d, kLn2));
}

// 2^x for any x, with a relative error of 7.5e-5: for what is rounded to bf16, whose step is 8e-3.
HWY_INLINE Floats RoughExp2(Floats x) {
  const FloatTag d;
#if HWY_TARGET == HWY_AVX3
  const Floats whole = Floats{_mm512_roundscale_ps(x.raw, _MM_FROUND_TO_NEAREST_INT)};
#else
  x = hn::Min(hn::Max(x, hn::Set(d, -126.0f)), hn::Set(d, 126.0f));
  const Floats whole = hn::Sub(hn::Add(x, hn::Set(d, kRounder)), hn::Set(d, kRounder));
#endif
  const Floats f = hn::Sub(x, whole);
  // The minimax polynomial of degree 3 on [-0.5, 0.5].
  Floats p = hn::Set(d, 5.517166906e-2f);
  p = hn::MulAdd(p, f, hn::Set(d, 2.426111222e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.932609855e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.999280735e-01f));
#if HWY_TARGET == HWY_AVX3
  return Floats{_mm512_scalef_ps(p.raw, whole.raw)};
#else
  const hn::RebindToSigned<FloatTag> di;
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::ConvertTo(di, whole))));
#endif
}

// What SiluBase2 is, with a relative error of 1.5e-4.
HWY_INLINE Floats RoughSiluBase2(Floats t) {
  const FloatTag d;
  const Floats divisor = hn::Add(hn::Set(d, 1.0f), RoughExp2(hn::Neg(t)));
#if HWY_TARGET == HWY_AVX3
  return hn::Mul(t, Floats{_mm512_rcp14_ps(divisor.raw)});
#else
  return hn::Div(t, divisor);
#endif
}

HWY_INLINE Floats RoughSilu(Floats x) {
  const FloatTag d;
  return hn::Mul(RoughSiluBase2(hn::Mul(x, hn::Set(d, kLog2E))), hn::Set(d, kLn2));
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_MATH_INL_H_
