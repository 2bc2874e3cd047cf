// The scalar reference of quantize_page.
#include <algorithm>
#include <cmath>

#include "kernels/quantize_page.h"

namespace hstu {
namespace {

void QuantizeHeads(int64_t heads, int64_t elements, const std::byte* from, std::byte* to) {
  const auto* values = reinterpret_cast<const float*>(from);
  const int64_t count = elements / heads;
  for (int64_t head = 0; head < heads; ++head) {
    float top = 0.0f;
    for (int64_t i = head * count; i < (head + 1) * count; ++i) {
      top = std::max(top, std::fabs(values[i]));
    }
    const float inverse = top > 0.0f ? 127.0f / top : 0.0f;
    for (int64_t i = head * count; i < (head + 1) * count; ++i) {
      const auto integer = static_cast<int8_t>(std::nearbyint(values[i] * inverse));
      to[i] = static_cast<std::byte>(integer);
    }
    KvPageLayout::Scales(to, elements)[head] = top / 127.0f;
  }
}

}  // namespace

void QuantizePagePlain(const QuantizePageArgs& args) {
  const KvPageLayout& layout = args.layout;
  QuantizeHeads(layout.heads, layout.KeyPageElements(), args.keys, args.int8_keys);
  QuantizeHeads(layout.heads, layout.ValuePageElements(), args.values, args.int8_values);
}

}  // namespace hstu
