#include "kernels/attention_update.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_update.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/dispatch.h"
#include "kernels/math-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

template <class T>
class UpdateTile {
 public:
  HWY_INLINE explicit UpdateTile(const AttentionUpdateArgs& args)
      : args_(args),
        tile_(AttentionUpdateTile(args.sp, args.dim)),
        weights_(args.scratch),
        sums_(args.scratch + args.sp * tile_) {}

  HWY_INLINE void Run() {
    for (int64_t row = args_.row_begin; row < args_.row_end; row += tile_) {
      const int64_t rows = std::min(tile_, args_.row_end - row);
      FindWeights(row, rows);
      for (int64_t part = 0; part < args_.sp; ++part) AddPart(part, row, rows);
      WriteOut(row, rows);
    }
  }

 private:
  // weights[part][i] = exp(lse - top) / sum, and the merged lse.
  HWY_INLINE void FindWeights(int64_t row, int64_t rows) {
    const FloatTag d;
    const Floats nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
    ForVectors(rows, [&](int64_t i, auto lanes) HWY_ATTR {
      const auto* lse = reinterpret_cast<const float*>(args_.lse) + row + i;
      Floats top = nothing;
      for (int64_t part = 0; part < args_.sp; ++part) {
        top = hn::Max(top, Load(lse + part * args_.rows, lanes));
      }
      const auto seen = hn::Gt(top, nothing);
      const Floats base = hn::IfThenElseZero(seen, top);
      Floats total = hn::Zero(d);
      for (int64_t part = 0; part < args_.sp; ++part) {
        const Floats relative = hn::Sub(Load(lse + part * args_.rows, lanes), base);
        const Floats weight = Exp2(hn::Mul(relative, hn::Set(d, kLog2E)));
        total = hn::Add(total, weight);
        Store(weight, weights_ + part * tile_ + i, lanes);
      }
      const Floats inverse = hn::IfThenElseZero(seen, hn::Div(hn::Set(d, 1.0f), total));
      for (int64_t part = 0; part < args_.sp; ++part) {
        float* weights = weights_ + part * tile_ + i;
        Store(hn::Mul(Load(weights, lanes), inverse), weights, lanes);
      }
      if (args_.lse_out == nullptr) return;
      const Floats merged = hn::Add(top, hn::IfThenElseZero(seen, hn::Log(d, total)));
      Store(merged, reinterpret_cast<float*>(args_.lse_out) + row + i, lanes);
    });
  }

  HWY_INLINE void AddPart(int64_t part, int64_t row, int64_t rows) {
    const int64_t dim = args_.dim;
    for (int64_t i = 0; i < rows; ++i) {
      float* sums = sums_ + i * dim;
      if (part == 0) std::fill_n(sums, dim, 0.0f);
      const float weight = weights_[part * tile_ + i];
      if (weight == 0.0f) continue;  // a part without weight may hold anything
      const Floats factor = hn::Set(FloatTag(), weight);
      const T* from = reinterpret_cast<const T*>(args_.parts) + (part * args_.rows + row + i) * dim;
      ForVectors(dim, [&](int64_t c, auto lanes) HWY_ATTR {
        Store(hn::MulAdd(Load(from + c, lanes), factor, Load(sums + c, lanes)), sums + c, lanes);
      });
    }
  }

  HWY_INLINE void WriteOut(int64_t row, int64_t rows) {
    T* out = reinterpret_cast<T*>(args_.out) + row * args_.dim;
    ForVectors(rows * args_.dim, [&](int64_t i, auto lanes)
                                     HWY_ATTR { Store(Load(sums_ + i, lanes), out + i, lanes); });
  }

  const AttentionUpdateArgs& args_;
  const int64_t tile_;
  float* const weights_;  // [sp][tile]
  float* const sums_;     // [tile][d]
};

void AttentionUpdate(const AttentionUpdateArgs& args) {
  switch (args.dtype) {
    case DType::kF32:
      return UpdateTile<float>(args).Run();
    case DType::kBF16:
      return UpdateTile<BF16>(args).Run();
    case DType::kF16:
      return UpdateTile<F16>(args).Run();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hstu {

HWY_EXPORT(AttentionUpdate);

AttentionUpdateFn* AttentionUpdateFor(Isa isa) { return HSTU_DISPATCH(AttentionUpdate, isa); }

// Sums within a quarter of a small L1, weights within another; whole vectors of every target.
int64_t AttentionUpdateTile(int64_t sp, int64_t dim) {
  constexpr int64_t kFloats = 8192 / sizeof(float);
  const int64_t rows = kFloats / std::max<int64_t>({1, sp, dim});
  return std::clamp<int64_t>(rows / 16 * 16, 16, 256);
}

int64_t AttentionUpdateScratch(int64_t sp, int64_t dim) {
  return AttentionUpdateTile(sp, dim) * (sp + dim);
}

}  // namespace hstu
#endif  // HWY_ONCE
