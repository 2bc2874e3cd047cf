// Vectors of f32 from and to memory of f32, bf16 and f16. Compiled once per target.
#if defined(HSTU_KERNELS_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_VECTOR_INL_H_
#undef HSTU_KERNELS_VECTOR_INL_H_
#else
#define HSTU_KERNELS_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;
using HalfBits = hn::Rebind<uint16_t, FloatTag>;  // as many 16-bit lanes
constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));

// Pairs of bf16, as many as Floats has lanes: the first of each in the lower half.
using PairTag = hn::RebindToUnsigned<FloatTag>;
using Pairs = hn::Vec<PairTag>;

// Which lanes of a vector exist: all, or the first `count`, at least one.
struct All {};
struct First {
  int64_t count;
};

HWY_INLINE Floats FloatsFromBF16(hn::Vec<HalfBits> bits) {
  const hn::RebindToUnsigned<FloatTag> d32;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

HWY_INLINE Floats FloatsFromF16(hn::Vec<HalfBits> bits) {
  const hn::Rebind<hwy::float16_t, FloatTag> f16;
  return hn::PromoteTo(FloatTag(), hn::BitCast(f16, bits));
}

// Element i of each as pair i.
HWY_INLINE Pairs PairsOf(hn::Vec<HalfBits> first, hn::Vec<HalfBits> second) {
  const PairTag d;
  return hn::Or(hn::PromoteTo(d, first), hn::ShiftLeft<16>(hn::PromoteTo(d, second)));
}

#if HWY_TARGET == HWY_AVX3
// Of 32 elements, number i and i + 16 as pair i.
HWY_INLINE Pairs PairsOf(Pairs elements) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                      21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                      11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return Pairs{_mm512_permutexvar_epi16(_mm512_load_si512(kOrder), elements.raw)};
}
#endif

// To nearest, ties to even; NaN stays NaN.
HWY_INLINE hn::Vec<HalfBits> BF16FromFloats(Floats value) {
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::RebindToSigned<FloatTag> di;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  const auto nan = hn::RebindMask(du, hn::IsNaN(value));
  const auto upper = hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
  return hn::DemoteTo(HalfBits(), hn::BitCast(di, upper));
}

// To nearest, ties to even. (Highway's emulation rounds towards zero.)
HWY_INLINE hn::Vec<HalfBits> F16FromFloats(Floats value) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  const hn::Rebind<hwy::float16_t, FloatTag> f16;
  return hn::BitCast(HalfBits(), hn::DemoteTo(f16, value));
#else
  float floats[kLanes];
  uint16_t halves[kLanes];
  hn::StoreU(value, FloatTag(), floats);
  for (int i = 0; i < kLanes; ++i) halves[i] = F16FromFloat(floats[i]);
  return hn::LoadU(HalfBits(), halves);
#endif
}

HWY_INLINE Floats Load(const float* p, All) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE Floats Load(const BF16* p, All) {
  return FloatsFromBF16(hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(p)));
}
HWY_INLINE Floats Load(const F16* p, All) {
  return FloatsFromF16(hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(p)));
}
// Past the end nothing is read: halves have no masked load, and Highway's emulation reads on.
template <class T>
HWY_INLINE Floats Load(const T* p, First lanes) {
  T all[kLanes] = {};
  std::memcpy(all, p, lanes.count * sizeof(T));
  return Load(all, All());
}
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE Floats Load(const float* p, First lanes) {
  return hn::MaskedLoad(hn::FirstN(FloatTag(), lanes.count), FloatTag(), p);
}
#endif

HWY_INLINE float ToFloat(float value) { return value; }
HWY_INLINE float ToFloat(BF16 value) { return FloatFromBF16(value.bits); }

HWY_INLINE void Store(Floats value, float* p, All) { hn::StoreU(value, FloatTag(), p); }
HWY_INLINE void Store(Floats value, float* p, First lanes) {
  hn::BlendedStore(value, hn::FirstN(FloatTag(), lanes.count), FloatTag(), p);
}
HWY_INLINE void Store(Floats value, BF16* p, All) {
  hn::StoreU(BF16FromFloats(value), HalfBits(), reinterpret_cast<uint16_t*>(p));
}
HWY_INLINE void Store(Floats value, F16* p, All) {
  hn::StoreU(F16FromFloats(value), HalfBits(), reinterpret_cast<uint16_t*>(p));
}
template <class Half>
HWY_INLINE void Store(Floats value, Half* p, First lanes) {
  Half all[kLanes];
  Store(value, all, All());
  std::memcpy(p, all, lanes.count * sizeof(Half));
}

// body(i, lanes) for the vectors of a row of `size` elements, in order; the last may be partial.
template <class Body>
HWY_INLINE void ForVectors(int64_t size, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) body(i, All());
  if (i < size) body(i, First{size - i});
}

// Zeros in the lanes that don't exist.
HWY_INLINE Floats ZeroPast(Floats value, All) { return value; }
HWY_INLINE Floats ZeroPast(Floats value, First lanes) {
  return hn::IfThenElseZero(hn::FirstN(FloatTag(), lanes.count), value);
}

// Calls body with a value of the element type that `dtype` names: float or BF16.
template <class Body>
HWY_INLINE void WithElement(DType dtype, const Body& body) {
  if (dtype == DType::kBF16) {
    body(BF16());
  } else {
    body(0.0f);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_VECTOR_INL_H_
