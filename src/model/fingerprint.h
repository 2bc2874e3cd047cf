// What tells one model from another: a hash of everything but the tables' contents.
#ifndef HSTU_MODEL_FINGERPRINT_H_
#define HSTU_MODEL_FINGERPRINT_H_

#include <string>

#include "model/weights.h"

namespace hstu {

// 32 hexadecimal digits: XXH3 (128 bits) of the config in its one form, the header of
// model.safetensors, the tables' shapes, the vocabularies and the bytes of all other weights.
// The tables' rows are not read: they may be larger than memory.
std::string Fingerprint(const ModelFiles& model);

}  // namespace hstu

#endif  // HSTU_MODEL_FINGERPRINT_H_
