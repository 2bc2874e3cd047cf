// The scalar reference of attention_update.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention_update.h"

namespace hstu {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

double Element(const std::byte* data, DType dtype, int64_t index) {
  return LoadFloat(dtype, data + index * static_cast<int64_t>(SizeOf(dtype)));
}

void Set(std::byte* data, DType dtype, int64_t index, double value) {
  StoreFloat(dtype, static_cast<float>(value), data + index * static_cast<int64_t>(SizeOf(dtype)));
}

// lse(part, row), out(part, row, channel)
template <typename Args, typename Lse, typename Out>
void Merge(const Args& args, const Lse& lse_of, const Out& out_of) {
  for (int64_t row = args.row_begin; row < args.row_end; ++row) {
    const auto lse = [&](int64_t part) { return lse_of(part, row); };
    double top = kNothing;
    for (int64_t part = 0; part < args.sp; ++part) top = std::max(top, lse(part));
    double merged = kNothing;
    if (top > kNothing) {
      double total = 0.0;
      for (int64_t part = 0; part < args.sp; ++part) total += std::exp(lse(part) - top);
      merged = top + std::log(total);
    }
    for (int64_t c = 0; c < args.dim; ++c) {
      double sum = 0.0;
      for (int64_t part = 0; part < args.sp && top > kNothing; ++part) {
        if (lse(part) == kNothing) continue;
        sum += std::exp(lse(part) - merged) * out_of(part, row, c);
      }
      Set(args.out, args.dtype, row * args.dim + c, sum);
    }
    if (args.lse_out != nullptr) Set(args.lse_out, DType::kF32, row, merged);
  }
}

}  // namespace

void AttentionUpdatePlain(const AttentionUpdateArgs& args) {
  Merge(
      args,
      [&](int64_t part, int64_t row) {
        return Element(args.lse, DType::kF32, part * args.rows + row);
      },
      [&](int64_t part, int64_t row, int64_t c) {
        return Element(args.parts, args.dtype, (part * args.rows + row) * args.dim + c);
      });
}

void AttentionUpdateListPlain(const AttentionUpdateListArgs& args) {
  Merge(
      args, [&](int64_t part, int64_t row) { return Element(args.lse[part], DType::kF32, row); },
      [&](int64_t part, int64_t row, int64_t c) {
        return Element(args.parts[part], args.dtype, row * args.dim + c);
      });
}

}  // namespace hstu
