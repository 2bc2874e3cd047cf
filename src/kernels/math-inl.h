// Exponential and SiLU of vectors. Compiled once per target.
#if defined(HSTU_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_MATH_INL_H_
#undef HSTU_KERNELS_MATH_INL_H_
#else
#define HSTU_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2 = 0.693147181f;

// 2^x with a relative error of 2e-7; exactly 0 below -126.5 (also at -infinity), infinite above
// 127.5. The polynomial is the minimax one of degree 5 for 2^f on [-0.5, 0.5] (Remez; 7.5e-8).
HWY_INLINE Floats Exp2(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  x = hn::Min(hn::Max(x, hn::Set(d, -127.0f)), hn::Set(d, 128.0f));
  const Floats whole = hn::Round(x);
  const Floats f = hn::Sub(x, whole);
  Floats p = hn::Set(d, 1.327647198e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.675541334e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550713274e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.402211972e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.931469671e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.000000072f));
  const auto exponent = hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
}

// t / (1 + 2^-t), which is silu(s) / ln(2) for t = s * log2(e).
HWY_INLINE Floats SiluBase2(Floats t) {
  const FloatTag d;
  return hn::Div(t, hn::Add(hn::Set(d, 1.0f), Exp2(hn::Neg(t))));
}

// x / (1 + exp(-x))
HWY_INLINE Floats Silu(Floats x) {
  const FloatTag d;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), Exp2(hn::Mul(x, hn::Set(d, -kLog2E)))));
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_MATH_INL_H_
