#include "kernels/pool_windows.h"

#include "kernels/testing.h"

namespace hstu {
namespace {

class PoolWindows : public OnEveryIsa {};
HSTU_ON_EVERY_ISA(PoolWindows);

constexpr int64_t kSizes[] = {1, 3, 8, 20, 44, 60, 64, 127, 512};
constexpr Aggregation kAggregations[] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {8, 4}, {17, 5}};

ConstMatrix None(int64_t cols) { return {nullptr, 0, cols, cols}; }

TEST_P(PoolWindows, IsCloseToItsReferenceForOddSizes) {
  for (const int64_t size : kSizes) {
    for (const Aggregation& aggregation : kAggregations) {
      const TestMatrix x(50, size, 1);
      const int64_t windows = aggregation.Complete(49);
      TestMatrix actual(windows, size, 2);
      TestMatrix expected(windows, size, 3);
      PoolWindowsFor(GetParam())({aggregation, None(size), x.view(), 1, actual.view()});
      PoolWindowsPlain({aggregation, None(size), x.view(), 1, expected.view()});
      ExpectClose(actual.view(), expected.view(), 1e-6);
      actual.ExpectGapsUntouched();
    }
  }
}

// Chunks cut windows anywhere: the first inputs come from where an earlier step left them.
TEST_P(PoolWindows, BitsDontDependOnWhereTheInputsAreCut) {
  for (const int64_t size : kSizes) {
    for (const Aggregation& aggregation : kAggregations) {
      const TestMatrix x(30, size, 1);
      const int64_t windows = aggregation.Complete(30);
      TestMatrix expected(windows, size, 2);
      PoolWindowsFor(GetParam())({aggregation, None(size), x.view(), 0, expected.view()});
      for (int64_t cut = 0; cut <= 30; ++cut) {
        TestMatrix actual(windows, size, 3);
        PoolWindowsFor(GetParam())(
            {aggregation, x.view().Rows(0, cut), x.view().Rows(cut, 30 - cut), 0, actual.view()});
        ExpectSameBits(actual.view(), expected.view());
      }
      for (int64_t row = 0; row < windows; ++row) {
        TestMatrix one(1, size, 3);
        PoolWindowsFor(GetParam())({aggregation, x.view().Rows(0, 5), x.view().Rows(5, 25),
                                    row * aggregation.stride, one.view()});
        ExpectSameBits(one.view(), expected.view().Rows(row, 1));
      }
    }
  }
}

}  // namespace
}  // namespace hstu
