// A safetensors file: any bytes give an error, or tensors that tile the file and can be read.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "model/safetensors.h"
#include "tests/fuzz/check.h"

namespace {

void ParseAndRead(std::span<const std::byte> file) {
  const hstu::Result<hstu::Safetensors> parsed = hstu::ParseSafetensors(file, "m.safetensors");
  if (!parsed.ok()) {
    CheckMessage(parsed.error().message, "m.safetensors");
    return;
  }
  std::size_t bytes = 8 + parsed->header.size();
  std::size_t sum = 0;
  for (const hstu::SafetensorsEntry& entry : parsed->entries) {
    bytes += entry.bytes.size();
    for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
    Check(parsed->Find(entry.name) == &entry);
  }
  Check(bytes == file.size() && sum <= 255 * file.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of just these bytes, so that a sanitizer sees a read past them.
  std::vector<std::byte> file(size);
  if (size > 0) std::memcpy(file.data(), data, size);
  ParseAndRead(file);
  if (size < 9) return 0;
  // Once more with a size before the header that fits, which mutations seldom leave: the file's
  // last byte tells how many bytes of data follow.
  const std::size_t tail = std::to_integer<std::size_t>(file.back()) % (size - 8);
  const std::uint64_t header = size - 8 - tail;
  for (int i = 0; i < 8; ++i) file[i] = static_cast<std::byte>(header >> (8 * i));
  ParseAndRead(file);
  return 0;
}
