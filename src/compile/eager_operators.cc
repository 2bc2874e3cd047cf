#include "compile/eager_operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compile/eager_operators.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/math-inl.h"
#include "kernels/panel.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// out[i] = body(i, lanes) by vectors.
template <class Body>
HWY_INLINE void Map(int64_t size, float* out, const Body& body) {
  ForVectors(size, [&](int64_t i, auto lanes) HWY_ATTR { Store(body(i, lanes), out + i, lanes); });
}

void EagerSilu(const float* in, int64_t size, float* out) {
  Map(size, out, [&](int64_t i, auto lanes) HWY_ATTR { return Silu(Load(in + i, lanes)); });
}

void EagerScale(const float* in, float factor, int64_t size, float* out) {
  const Floats times = hn::Set(FloatTag(), factor);
  Map(size, out,
      [&](int64_t i, auto lanes) HWY_ATTR { return hn::Mul(Load(in + i, lanes), times); });
}

void EagerMul(const float* a, const float* b, int64_t size, float* out) {
  Map(size, out, [&](int64_t i, auto lanes) HWY_ATTR {
    return hn::Mul(Load(a + i, lanes), Load(b + i, lanes));
  });
}

void EagerAdd(const float* a, const float* b, int64_t size, float* out) {
  Map(size, out, [&](int64_t i, auto lanes) HWY_ATTR {
    return hn::Add(Load(a + i, lanes), Load(b + i, lanes));
  });
}

void EagerRelu(const float* in, int64_t size, float* out) {
  const Floats zero = hn::Zero(FloatTag());
  Map(size, out,
      [&](int64_t i, auto lanes) HWY_ATTR { return hn::Max(Load(in + i, lanes), zero); });
}

void EagerSoftmax(const float* in, int64_t size, float* out) {
  const float top = *std::max_element(in, in + size);
  const Floats subtract = hn::Set(FloatTag(), top);
  const Floats log2e = hn::Set(FloatTag(), kLog2E);
  Map(size, out, [&](int64_t i, auto lanes) HWY_ATTR {
    return Exp2(hn::Mul(hn::Sub(Load(in + i, lanes), subtract), log2e));
  });
  double total = 0.0;
  for (int64_t i = 0; i < size; ++i) total += out[i];
  EagerScale(out, static_cast<float>(1.0 / total), size, out);
}

void EagerPackRows(const float* rows, int64_t n, int64_t k, int64_t stride, float* packed) {
  for (int64_t panel = 0; panel < CeilDiv(n, kPanelWidth); ++panel) {
    float* to = packed + panel * k * kPanelWidth;
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t column = 0; column < kPanelWidth; ++column) {
        const int64_t row = panel * kPanelWidth + column;
        to[i * kPanelWidth + column] = row < n ? rows[row * stride + i] : 0.0f;
      }
    }
  }
}

void EagerPackColumns(const float* rows, int64_t k, int64_t n, int64_t stride, float* packed) {
  for (int64_t panel = 0; panel < CeilDiv(n, kPanelWidth); ++panel) {
    const int64_t first = panel * kPanelWidth;
    const int64_t count = std::min<int64_t>(kPanelWidth, n - first);
    float* to = packed + panel * k * kPanelWidth;
    for (int64_t i = 0; i < k; ++i, to += kPanelWidth) {
      std::copy_n(rows + i * stride + first, count, to);
      std::fill(to + count, to + kPanelWidth, 0.0f);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(EagerSilu);
HWY_EXPORT(EagerScale);
HWY_EXPORT(EagerMul);
HWY_EXPORT(EagerAdd);
HWY_EXPORT(EagerRelu);
HWY_EXPORT(EagerSoftmax);
HWY_EXPORT(EagerPackRows);
HWY_EXPORT(EagerPackColumns);

EagerOperators EagerOperatorsFor(Isa isa) {
  return {HSTU_DISPATCH(EagerSilu, isa),     HSTU_DISPATCH(EagerScale, isa),
          HSTU_DISPATCH(EagerMul, isa),      HSTU_DISPATCH(EagerAdd, isa),
          HSTU_DISPATCH(EagerRelu, isa),     HSTU_DISPATCH(EagerSoftmax, isa),
          HSTU_DISPATCH(EagerPackRows, isa), HSTU_DISPATCH(EagerPackColumns, isa)};
}

}  // namespace hstu
#endif  // HWY_ONCE
