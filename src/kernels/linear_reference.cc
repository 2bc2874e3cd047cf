#include "kernels/linear_reference.h"

#include <algorithm>

#include "kernels/linear.h"

namespace hstu {

void LinearPlain(const LinearArgs& args) {
  LinearReference(
      args.x, args.weight, 0, args.weight.panels(), [&](int64_t row, int64_t column, double sum) {
        const double value = sum + args.bias[column];
        args.out.Row(row)[column] = static_cast<float>(args.relu ? std::max(0.0, value) : value);
      });
}

}  // namespace hstu
