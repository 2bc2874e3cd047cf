// metadata.json of artifacts: any bytes give metadata or an error; metadata survives its own JSON,
// and names no file outside its folder.
#include <cstdint>
#include <string>

#include "compile/metadata.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const hstu::Result<hstu::Metadata> metadata = hstu::ParseMetadata(text, "metadata.json");
  if (!metadata.ok()) {
    const std::string& message = metadata.error().message;
    CheckMessage(message, "metadata.json");
    Check(message.find('\n') == message.npos);
    return 0;
  }
  Check(metadata->weights.file.find('/') == std::string::npos);
  for (const hstu::BucketRecord& bucket : metadata->buckets) {
    Check(bucket.library.find('/') == std::string::npos);
  }
  const std::string json = hstu::ToJson(metadata.value()).dump();
  const hstu::Result<hstu::Metadata> again = hstu::ParseMetadata(json, "again");
  Check(again.ok() && hstu::ToJson(again.value()).dump() == json);
  return 0;
}
