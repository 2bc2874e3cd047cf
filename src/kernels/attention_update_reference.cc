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

}  // namespace

void AttentionUpdatePlain(const AttentionUpdateArgs& args) {
  for (int64_t row = args.row_begin; row < args.row_end; ++row) {
    const auto lse = [&](int64_t part) {
      return Element(args.lse, DType::kF32, part * args.rows + row);
    };
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
        sum += std::exp(lse(part) - merged) *
               Element(args.parts, args.dtype, (part * args.rows + row) * args.dim + c);
      }
      Set(args.out, args.dtype, row * args.dim + c, sum);
    }
    if (args.lse_out != nullptr) Set(args.lse_out, DType::kF32, row, merged);
  }
}

}  // namespace hstu
