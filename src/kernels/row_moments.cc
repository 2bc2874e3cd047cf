#include "kernels/row_moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_moments.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
void RowMomentsAs(const RowMomentsArgs& args) {
  for (int64_t row = 0; row < args.x.rows; ++row) {
    const T* x = args.x.RowAs<T>(row);
    const float mean = RowSum(x, args.x.cols, [](Floats v) HWY_ATTR { return v; }) / args.x.cols;
    const Floats center = hn::Set(FloatTag(), mean);
    args.out[2 * row] = mean;
    args.out[2 * row + 1] = RowSum(x, args.x.cols, [&](Floats v) HWY_ATTR {
      const Floats difference = hn::Sub(v, center);
      return hn::Mul(difference, difference);
    });
  }
}

void RowMomentsOf(const RowMomentsArgs& args) {
  WithElement(args.x.dtype, [&](auto element) { RowMomentsAs<decltype(element)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(RowMomentsOf);

RowMomentsFn* RowMomentsFor(Isa isa) { return HSTU_DISPATCH(RowMomentsOf, isa); }

void JoinRowMoments(const float* parts, int64_t ranks, int64_t rows, int64_t cols, float epsilon,
                    float* out) {
  const auto n = static_cast<float>(cols);
  const auto count = static_cast<float>(ranks);
  for (int64_t row = 0; row < rows; ++row) {
    const auto part = [&](int64_t rank) { return parts + (rank * rows + row) * 2; };
    float mean = 0.0f;
    for (int64_t rank = 0; rank < ranks; ++rank) mean += part(rank)[0];
    mean /= count;
    float squares = 0.0f;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const float difference = part(rank)[0] - mean;
      squares += part(rank)[1] + n * difference * difference;
    }
    out[2 * row] = mean;
    out[2 * row + 1] = 1.0f / std::sqrt(squares / (count * n) + epsilon);
  }
}

}  // namespace hstu
#endif  // HWY_ONCE
