#include "engine/kv_shape.h"

#include <algorithm>

#include "base/error.h"

namespace hstu {
namespace {

constexpr int64_t kDefaultKvBytes = int64_t{1} << 30;

}  // namespace

Result<KvLayout> KvLayoutOf(const ModelConfig& config, const EngineOptions& options,
                            KvDType dtype) {
  HSTU_RETURN_IF_ERROR(CheckPageTokens(options.page_size));
  KvModelShape shape = KvShapeOf(config, dtype);
  shape.ranks = options.sp_size;
  int64_t pages = options.kv_pages;
  if (pages == 0) {
    const int64_t bytes = options.kv_bytes == 0 ? kDefaultKvBytes : options.kv_bytes;
    pages = KvPagesWithin(shape, options.page_size, bytes);
    // The default is never too small for one user.
    if (options.kv_bytes == 0) {
      pages = std::max(pages, KvPagesPerUser(shape, options.page_size)[0]);
    }
  }
  return MakeKvLayout(shape, options.page_size, pages);
}

}  // namespace hstu
