// The scalar reference of pool_windows.
#include "kernels/pool_windows.h"

namespace hstu {

void PoolWindowsPlain(const PoolWindowsArgs& args) {
  const auto [window, stride] = args.aggregation;
  for (int64_t row = 0; row < args.out.rows; ++row) {
    for (int64_t col = 0; col < args.out.cols; ++col) {
      double sum = 0.0;
      for (int64_t i = 0; i < window; ++i) {
        const int64_t input = args.first + row * stride + i;
        sum += input < args.waiting.rows ? args.waiting.Row(input)[col]
                                         : args.x.At(input - args.waiting.rows, col);
      }
      args.out.Set(row, col, static_cast<float>(sum / static_cast<double>(window)));
    }
  }
}

}  // namespace hstu
