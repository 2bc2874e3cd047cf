#include <cmath>

#include "kernels/in_linear_silu.h"
#include "kernels/linear_reference.h"

namespace hstu {

void InLinearSiluPlain(const InLinearSiluArgs& args) {
  LinearReference(args.x, args.weight, args.panel_begin, args.panel_end,
                  [&](int64_t row, int64_t column, double sum) {
                    const double x = sum + args.bias[column];
                    args.out.Set(row, column, static_cast<float>(x / (1.0 + std::exp(-x))));
                  });
}

}  // namespace hstu
