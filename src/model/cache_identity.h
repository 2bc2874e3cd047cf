// What K and V in a cache depend on beside the tokens: states of another identity are no hits.
#ifndef HSTU_MODEL_CACHE_IDENTITY_H_
#define HSTU_MODEL_CACHE_IDENTITY_H_

#include <cstdint>
#include <string>

#include "kernels/panel.h"
#include "model/weights.h"

namespace hstu {

// What an engine adds to its model.
struct CacheNumerics {
  std::string isa;
  std::string fused_ops;
  std::string activation_type;  // "f32"
  Products products = Products::kF32;
  std::string storage_type;  // of K and V
  int64_t page_tokens = 0;
  bool disable_context = false;     // tokens stand for other features
  std::string embedding_operators;  // IdentityOf those from libraries
};

// Of the tables' contents: size and time of the weights file and 1,000 rows of each table; or the
// `fingerprint` in the file's __metadata__, where it has one.
std::string TablesFingerprint(const ModelFiles& model);

// 32 hexadecimal digits: the model's Fingerprint, its tables and everything that changes bits of K
// and V or where they lie.
std::string CacheIdentity(const ModelFiles& model, const CacheNumerics& numerics);

}  // namespace hstu

#endif  // HSTU_MODEL_CACHE_IDENTITY_H_
