#include "kernels/linear_reference.h"
#include "kernels/linear_residual.h"

namespace hstu {

void LinearResidualPlain(const LinearResidualArgs& args) {
  LinearReference(args.x, args.weight, args.panel_begin, args.panel_end,
                  [&](int64_t row, int64_t column, double sum) {
                    if (args.residual.data != nullptr) sum += args.residual.At(row, column);
                    args.out.Set(row, column, static_cast<float>(sum));
                  });
}

}  // namespace hstu
