// The code of operator attention_update. Compiled once per target, and by artifacts (src/compile)
// with a model's sizes as constants.
#if defined(HSTU_KERNELS_ATTENTION_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HSTU_KERNELS_ATTENTION_UPDATE_INL_H_
#undef HSTU_KERNELS_ATTENTION_UPDATE_INL_H_
#else
#define HSTU_KERNELS_ATTENTION_UPDATE_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/attention_update.h"
#include "kernels/math-inl.h"
#include "kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hstu {
namespace HWY_NAMESPACE {

// Where a part's lse and out begin, in either form.
HWY_INLINE const std::byte* LseOf(const AttentionUpdateArgs& args, int64_t part) {
  return args.lse + part * args.rows * static_cast<int64_t>(sizeof(float));
}
HWY_INLINE const std::byte* OutOf(const AttentionUpdateArgs& args, int64_t part) {
  return args.parts + part * args.rows * args.dim * static_cast<int64_t>(SizeOf(args.dtype));
}
HWY_INLINE const std::byte* LseOf(const AttentionUpdateListArgs& args, int64_t part) {
  return args.lse[part];
}
HWY_INLINE const std::byte* OutOf(const AttentionUpdateListArgs& args, int64_t part) {
  return args.parts[part];
}

template <class T, class Args>
class UpdateTile {
 public:
  HWY_INLINE explicit UpdateTile(const Args& args)
      : args_(args),
        tile_(AttentionUpdateTile(args.sp, args.dim)),
        weights_(args.scratch),
        sums_(args.scratch + args.sp * tile_) {}

  HWY_INLINE void Run() {
    for (int64_t row = args_.row_begin; row < args_.row_end; row += tile_) {
      const int64_t rows = std::min(tile_, args_.row_end - row);
      FindWeights(row, rows);
      std::fill_n(sums_, rows * args_.dim, 0.0f);
      int64_t part = 0;
      for (; part + kTogether <= args_.sp; part += kTogether) AddParts<kTogether>(part, row, rows);
      for (; part < args_.sp; ++part) AddParts<1>(part, row, rows);
      WriteOut(row, rows);
    }
  }

 private:
  static constexpr int kTogether = 4;

  // weights[part][i] = exp(lse - top) / sum, and the merged lse.
  HWY_INLINE void FindWeights(int64_t row, int64_t rows) {
    const FloatTag d;
    const Floats nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
    ForVectors(rows, [&](int64_t i, auto lanes) HWY_ATTR {
      const auto lse = [&](int64_t part) HWY_ATTR {
        return Load(reinterpret_cast<const float*>(LseOf(args_, part)) + row + i, lanes);
      };
      Floats top = nothing;
      for (int64_t part = 0; part < args_.sp; ++part) {
        top = hn::Max(top, lse(part));
      }
      const auto seen = hn::Gt(top, nothing);
      const Floats base = hn::IfThenElseZero(seen, top);
      Floats total = hn::Zero(d);
      for (int64_t part = 0; part < args_.sp; ++part) {
        const Floats relative = hn::Sub(lse(part), base);
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

  // Parts whose sums are read and written once for all of them, in the order of ranks.
  template <int kParts>
  HWY_INLINE void AddParts(int64_t first, int64_t row, int64_t rows) {
    const int64_t dim = args_.dim;
    const T* from[kParts];
    for (int p = 0; p < kParts; ++p) {
      from[p] = reinterpret_cast<const T*>(OutOf(args_, first + p)) + row * dim;
    }
    for (int64_t i = 0; i < rows; ++i) {
      const float* weights = weights_ + first * tile_ + i;
      bool all_weigh = true;
      for (int p = 0; p < kParts; ++p) all_weigh = all_weigh && weights[p * tile_] != 0.0f;
      if (all_weigh) {
        AddRow<kParts>(from, i * dim, weights, sums_ + i * dim);
        continue;
      }
      for (int p = 0; p < kParts; ++p) {  // a part without weight may hold anything
        if (weights[p * tile_] == 0.0f) continue;
        AddRow<1>(from + p, i * dim, weights + p * tile_, sums_ + i * dim);
      }
    }
  }

  template <int kParts>
  HWY_INLINE void AddRow(const T* const* from, int64_t at, const float* weights, float* sums) {
    Floats factors[kParts];
    for (int p = 0; p < kParts; ++p) factors[p] = hn::Set(FloatTag(), weights[p * tile_]);
    ForVectors(args_.dim, [&](int64_t c, auto lanes) HWY_ATTR {
      Floats sum = Load(sums + c, lanes);
      HWY_UNROLL(4)
      for (int p = 0; p < kParts; ++p) {
        sum = hn::MulAdd(Load(from[p] + at + c, lanes), factors[p], sum);
      }
      Store(sum, sums + c, lanes);
    });
  }

  HWY_INLINE void WriteOut(int64_t row, int64_t rows) {
    T* out = reinterpret_cast<T*>(args_.out) + row * args_.dim;
    ForVectors(rows * args_.dim, [&](int64_t i, auto lanes)
                                     HWY_ATTR { Store(Load(sums_ + i, lanes), out + i, lanes); });
  }

  const Args& args_;
  const int64_t tile_;
  float* const weights_;  // [sp][tile]
  float* const sums_;     // [tile][d]
};

template <class Args>
HWY_INLINE void AttentionUpdateBody(const Args& args) {
  switch (args.dtype) {
    case DType::kF32:
      return UpdateTile<float, Args>(args).Run();
    case DType::kBF16:
      return UpdateTile<BF16, Args>(args).Run();
    case DType::kF16:
      return UpdateTile<F16, Args>(args).Run();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hstu
HWY_AFTER_NAMESPACE();

#endif  // HSTU_KERNELS_ATTENTION_UPDATE_INL_H_
