// The safetensors format: 8 bytes of header size, a JSON header, then the tensors' bytes.
// https://github.com/huggingface/safetensors#format
#ifndef HSTU_MODEL_SAFETENSORS_H_
#define HSTU_MODEL_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hstu/hstu.hpp"
#include "tensor/dtype.h"

namespace hstu {

struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;      // as in the file, such as "F32" or "I64"
  std::optional<DType> dtype;  // nothing: a type that no weight can have
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // shape x dtype, exactly; need not be aligned
};

struct Safetensors {
  std::string_view header;                      // the JSON text
  std::vector<SafetensorsEntry> entries;        // in the order of their bytes
  std::map<std::string, std::string> metadata;  // `__metadata__`

  const SafetensorsEntry* Find(std::string_view name) const;  // null: not in the file
};

// Reads the header of `file`, into which the result points; tensor bytes are not touched.
// A file that lies is refused with kBadModel: one that is cut or too long, a header that is not
// what the format says, a tensor given twice, tensors that overlap, leave gaps or don't have the
// bytes of their shape and dtype. Messages begin with `file_name`.
Result<Safetensors> ParseSafetensors(std::span<const std::byte> file, std::string_view file_name);

}  // namespace hstu

#endif  // HSTU_MODEL_SAFETENSORS_H_
