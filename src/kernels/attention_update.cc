#include "kernels/attention_update.h"

#include <algorithm>
#include <cstring>
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

// Elements of the parts and of the result, by type; none is aligned.
struct F16 {
  uint16_t bits;
};
HWY_INLINE Floats LoadPart(const float* p) { return Load(p, All()); }
HWY_INLINE Floats LoadPart(const BF16* p) { return Load(p, All()); }
HWY_INLINE Floats LoadPart(const F16* p) {
  return FloatsFromF16(hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(p)));
}
HWY_INLINE void StorePart(Floats value, float* p) { Store(value, p, All()); }
HWY_INLINE void StorePart(Floats value, BF16* p) { Store(value, p, All()); }
HWY_INLINE void StorePart(Floats value, F16* p) {
  hn::StoreU(F16FromFloats(value), HalfBits(), reinterpret_cast<uint16_t*>(p));
}

// body(i, load, store) for the vectors of `size` elements; the last may go through a buffer.
template <class T>
HWY_INLINE Floats LoadAt(const T* row, int64_t i, int64_t size) {
  if (i + kLanes <= size) return LoadPart(row + i);
  T all[kLanes] = {};
  std::memcpy(all, row + i, (size - i) * sizeof(T));
  return LoadPart(all);
}
template <class T>
HWY_INLINE void StoreAt(Floats value, T* row, int64_t i, int64_t size) {
  if (i + kLanes <= size) return StorePart(value, row + i);
  T all[kLanes];
  StorePart(value, all);
  std::memcpy(row + i, all, (size - i) * sizeof(T));
}

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
    const auto* lse = reinterpret_cast<const float*>(args_.lse);
    const Floats nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int64_t i = 0; i < rows; i += kLanes) {
      Floats top = nothing;
      for (int64_t part = 0; part < args_.sp; ++part) {
        top = hn::Max(top, LoadAt(lse + part * args_.rows + row, i, rows));
      }
      const auto seen = hn::Gt(top, nothing);
      const Floats base = hn::IfThenElseZero(seen, top);
      Floats total = hn::Zero(d);
      for (int64_t part = 0; part < args_.sp; ++part) {
        const Floats relative = hn::Sub(LoadAt(lse + part * args_.rows + row, i, rows), base);
        const Floats weight = Exp2(hn::Mul(relative, hn::Set(d, kLog2E)));
        total = hn::Add(total, weight);
        StoreAt(weight, weights_ + part * tile_, i, rows);
      }
      const Floats inverse = hn::IfThenElseZero(seen, hn::Div(hn::Set(d, 1.0f), total));
      for (int64_t part = 0; part < args_.sp; ++part) {
        float* weights = weights_ + part * tile_;
        StoreAt(hn::Mul(LoadAt(weights, i, rows), inverse), weights, i, rows);
      }
      if (args_.lse_out == nullptr) continue;
      const Floats merged = hn::Add(top, hn::IfThenElseZero(seen, hn::Log(d, total)));
      StoreAt(merged, reinterpret_cast<float*>(args_.lse_out) + row, i, rows);
    }
  }

  HWY_INLINE void AddPart(int64_t part, int64_t row, int64_t rows) {
    const FloatTag d;
    const int64_t dim = args_.dim;
    for (int64_t i = 0; i < rows; ++i) {
      const float weight = weights_[part * tile_ + i];
      float* sums = sums_ + i * dim;
      const Floats factor = hn::Set(d, weight);
      const T* from = reinterpret_cast<const T*>(args_.parts) + (part * args_.rows + row + i) * dim;
      if (part == 0) {
        // A part without weight may hold anything.
        if (weight == 0.0f) {
          std::fill_n(sums, dim, 0.0f);
          continue;
        }
        for (int64_t c = 0; c < dim; c += kLanes) {
          StoreAt(hn::Mul(LoadAt(from, c, dim), factor), sums, c, dim);
        }
      } else if (weight != 0.0f) {
        for (int64_t c = 0; c < dim; c += kLanes) {
          StoreAt(hn::MulAdd(LoadAt(from, c, dim), factor, LoadAt(sums, c, dim)), sums, c, dim);
        }
      }
    }
  }

  HWY_INLINE void WriteOut(int64_t row, int64_t rows) {
    T* out = reinterpret_cast<T*>(args_.out) + row * args_.dim;
    for (int64_t i = 0; i < rows * args_.dim; i += kLanes) {
      StoreAt(LoadAt(sums_, i, rows * args_.dim), out, i, rows * args_.dim);
    }
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
