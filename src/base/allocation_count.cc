#include "base/allocation_count.h"

namespace hstu {

std::atomic<std::int64_t> allocation_count = 0;

}  // namespace hstu
